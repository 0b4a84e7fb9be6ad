import t from 'tap';
import { newPerson, readable, startBrowser } from '../helpers/browser.js';
import { variables } from '../helpers/people.js';
import { createHome, startService } from '../helpers/service.js';

const service = await startService(await createHome(t, { prepared: true }), variables);
const browser = await startBrowser(t);

const pages = [
  { path: '/account/reset-password', call: '**/auth/password/reset', submit: 'Save password' },
  { path: '/account/accept-invite', call: '**/users/invite/accept', submit: 'Accept invitation' },
];

t.test('the token of a link is removed from the address bar, and kept for another language', async (t) => {
  for (const { path, call } of pages) {
    const person = await newPerson(browser, service);
    const { page, context } = person;
    await context.addCookies([{ name: 'gatehouse_session_token', value: 'somebody-else', url: service.url }]);
    await person.open(`${path}?token=a"b%26c`);
    t.equal(new URL(page.url()).search, '');
    await page.getByRole('link', { name: 'Deutsch' }).click();
    await page.waitForURL(/lang=de-DE$/);
    t.equal(await page.evaluate('history.length'), 3, 'the browser history has no page with the token');
    let sent: unknown;
    await page.route(call, async (route) => {
      sent = { ...route.request().postDataJSON(), cookie: (await route.request().allHeaders()).cookie };
      await route.fulfill({ status: 204 });
    });
    await page.locator('[type=password]').fill('a good long password');
    await page.locator('[type=submit]').click();
    await page.locator('[data-part=done]').waitFor();
    t.strictSame(sent, { token: 'a"b&c', password: 'a good long password', cookie: undefined });
    t.strictSame(await context.cookies(), [], 'an earlier session in this browser is signed out');
    t.equal(await page.evaluate('document.activeElement.tagName'), 'H1');
    t.strictSame(person.complaints(), []);
  }
});

t.test('the page explains why a link cannot be used, and what to do', async (t) => {
  const answers: [status: number, code: string, reset: RegExp, invite: RegExp][] = [
    [401, 'TOKEN_EXPIRED', /has expired. Request a new one/, /has expired. Ask the person who invited you/],
    [403, 'INVALID_TOKEN', /incomplete or not valid.*request a new one/, /incomplete or not valid.*ask the person/],
    [403, 'FORBIDDEN', /already been used.*Request a new one/, /not an invitation/],
    [400, 'INVALID_INVITE', /./, /If you have accepted it, sign in/],
  ];
  for (const [index, { path, call, submit }] of pages.entries()) {
    const person = await newPerson(browser, service);
    const { page } = person;
    await person.open(path);
    t.match(await readable(person), 'This link cannot be used', `${path} without a token`);
    t.equal(await page.locator('form:visible').count(), 0);
    for (const [status, code, ...words] of answers) {
      const errors = [{ message: 'x', extensions: { code } }];
      await page.route(call, (route) => route.fulfill({ status, json: { errors } }));
      await person.open(`${path}?token=x`);
      await page.getByLabel('New password').fill('a good long password');
      await page.getByRole('button', { name: submit }).click();
      await page.getByRole('heading', { name: 'This link cannot be used' }).waitFor();
      t.match(await page.locator('[data-part=dead]').innerText(), words[index] ?? /./, `${path} ${code}`);
      await page.unroute(call);
    }
  }
});

t.test('users can choose another password if theirs is rejected', async (t) => {
  for (const { path, call, submit } of pages) {
    const person = await newPerson(browser, service);
    const errors = [{ message: 'x', extensions: { code: 'FAILED_VALIDATION', field: 'password' } }];
    await person.page.route(call, (route) => route.fulfill({ status: 400, json: { errors } }));
    await person.open(`${path}?token=x`);
    await person.page.getByLabel('New password').fill('password1234');
    await person.page.getByRole('button', { name: submit }).click();
    t.match(await person.said('fault'), 'Choose a longer or less common one', path);
  }
});
