import t from 'tap';
import {
  focused,
  newPerson,
  openDialog,
  type Person,
  signIn,
  startBrowser,
  waitForOwnAccount,
} from '../helpers/browser/browser.js';
import { freePort } from '../helpers/servers/ports.js';
import { startClockedService } from '../helpers/service/clocked-service.js';
import { administrator } from '../helpers/users/credentials.js';
import { createUser } from '../helpers/users/users.js';

/** What the pages show while the service has not responded yet. */

const port = String(await freePort());
// On localhost, where browsers accept passkeys.
const service = await startClockedService(t, { PORT: port, PUBLIC_URL: `http://localhost:${port}` });
const browser = await startBrowser(t);
const { app } = service;

const unavailable = { errors: [{ message: 'x', extensions: { code: 'SERVICE_UNAVAILABLE' } }] };

/** Responds to the first requests for a path with 503. @returns how many requests there were so far */
async function failFirst({ page }: Person, path: string, retryAfter: string | undefined, failures = 1) {
  let requests = 0;
  await page.route(path, (route) => {
    if (requests++ >= failures) return route.continue();
    const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
    return route.fulfill({ status: 503, headers, json: unavailable });
  });
  return () => requests;
}

t.test('if the service is briefly overloaded, the pages say so, wait, and try once more', async (t) => {
  const user = await createUser(app);
  const person = await newPerson(browser, service);
  const { page } = person;
  const requests = await failFirst(person, '**/auth/login', '1');
  await signIn(person, user.email, user.password);
  t.match(await person.said('status'), 'The service is busy. Trying again');
  await waitForOwnAccount(person);
  t.equal(requests(), 2);

  const profile = await failFirst(person, '**/users/me/profile', '2', 1);
  await openDialog(person, 'profile', 'profile');
  await page.getByLabel('First name').fill('Ada');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.locator('dialog[open] [data-notice]:not(:empty)').waitFor();
  t.pass('the message is in front of the dialog, not behind its backdrop');
  const isInFront = `(() => {
    const { left, top, width, height } = document.querySelector('[data-notice]').getBoundingClientRect();
    return document.elementFromPoint(left + width / 2, top + height / 2)?.matches('[data-notice]');
  })()`;
  t.equal(await page.evaluate(isInFront), true);
  await page.getByText('Saved.').waitFor();
  t.equal(await page.locator('body > [data-notice]').count(), 1);
  t.ok(profile() >= 2);
});

t.test('the console still says that it waits after a dialog has closed while it did', async (t) => {
  const person = await newPerson(browser, service);
  await person.context.request.post(`${service.url}/auth/login`, { data: { ...administrator, mode: 'session' } });
  const { page } = person;
  await person.open('/console/users');
  await page.locator('[data-row]').first().waitFor();
  const message = page.locator('[data-notice]', { hasText: 'The service is busy. Trying again' });
  await failFirst(person, '**/users?search=in-the-palette*', '2', 1);
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').getByRole('combobox').fill('in-the-palette');
  await message.waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const searches = await failFirst(person, '**/users?search=in-the-list*', '1', 1);
  await page.getByRole('searchbox').first().fill('in-the-list');
  await message.waitFor();
  await page.getByText('No users found').waitFor();
  t.ok(searches() >= 2);
  // The browser logs the responses with 503.
  t.strictSame(
    person.complaints().filter((one) => !one.includes('503')),
    [],
  );
});

t.test('the pages do not wait for longer than five seconds, and not more than once', async (t) => {
  const user = await createUser(app);
  for (const [retryAfter, expected] of [
    ['6', 1],
    [undefined, 1],
    ['1', 2],
  ] as const) {
    const person = await newPerson(browser, service);
    const requests = await failFirst(person, '**/auth/login', retryAfter, 5);
    await signIn(person, user.email, user.password);
    t.match(await person.said('alert'), 'not available at the moment');
    t.equal(requests(), expected, String(retryAfter));
  }
});

t.test('while an action runs, its button shows that it is busy, and keeps its width and the focus', async (t) => {
  const user = await createUser(app);
  const person = await newPerson(browser, service);
  const { page } = person;
  let requests = 0;
  let respond = () => {};
  const released = new Promise<void>((resolve) => {
    respond = resolve;
  });
  await page.route('**/users/me/profile', async (route) => {
    if (route.request().method() === 'PATCH') {
      requests++;
      await released;
    }
    await route.continue();
  });
  await signIn(person, user.email, user.password);
  await waitForOwnAccount(person);
  await openDialog(person, 'profile', 'profile');
  await page.getByLabel('First name').fill('Ada');
  const save = page.getByRole('button', { name: 'Save' });
  // The dialog grows while it appears.
  await page.evaluate('Promise.all(document.getAnimations().map(({ finished }) => finished)).then(() => {})');
  const before = await save.boundingBox();
  await save.click();
  await page.locator('button[aria-busy=true]').waitFor();
  t.strictSame(await save.boundingBox(), before);
  t.equal(await save.textContent(), 'Save');
  const spinner = "getComputedStyle(document.querySelector('button[aria-busy]'), '::before').borderTopStyle";
  t.equal(await page.evaluate(spinner), 'solid', 'a spinner');
  await save.click();
  await page.keyboard.press('Enter');
  respond();
  await page.getByText('Saved.').waitFor();
  t.equal(requests, 1, 'it is not sent again');
  t.equal(await page.locator('button[aria-busy]').count(), 0);
  t.equal(await focused(person), 'name-edit');
});

t.test('the layout of the account is there at once, and nothing moves when the values arrive', async (t) => {
  const user = await createUser(app, { email: 'ada@example.com', firstName: 'Ada', lastName: 'Lovelace' });
  for (const viewport of [
    { width: 1280, height: 800 },
    { width: 390, height: 844 },
  ]) {
    const person = await newPerson(browser, service, { viewport });
    const { page, context } = person;
    const data = { email: user.email, password: user.password, mode: 'session' };
    await context.request.post('/auth/login', { data });
    // As on a slow network.
    await page.route(/\/(users|policies)\//, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      await route.continue();
    });
    await page.addInitScript(`globalThis.shift = 0;
      new PerformanceObserver((list) => { for (const { value } of list.getEntries()) globalThis.shift += value; })
        .observe({ type: 'layout-shift', buffered: true });`);
    for (const section of ['', '/profile', '/security', '/sessions']) {
      await person.open(`/account${section}`);
      const panel = section === '/profile' ? 'h1:visible, .card:visible' : 'h1:visible';
      t.ok((await page.locator(panel).count()) > 0, `${section}: the layout`);
      t.equal(await page.locator('[data-content]').isVisible(), true);
      t.equal(await page.locator('.panels').getAttribute('inert'), '', 'nothing can be pressed yet');
      await waitForOwnAccount(person);
      const shift = await page.evaluate<number>('shift');
      t.ok(shift < 0.02, `${viewport.width} ${section}: ${shift}`);
    }
    t.strictSame(person.complaints(), []);
  }
});

t.test('if the account cannot be loaded, users can try again', async (t) => {
  const user = await createUser(app);
  const person = await newPerson(browser, service);
  const { page } = person;
  await signIn(person, user.email, user.password);
  await waitForOwnAccount(person);
  await page.route('**/users/me/profile', (route) => route.abort());
  await person.open('/account');
  t.match(await person.said('alert'), 'Check your connection');
  t.equal(await page.locator('[data-content]').isVisible(), false);
  await page.unroute('**/users/me/profile');
  await page.getByRole('button', { name: 'Try again' }).click();
  await waitForOwnAccount(person);
});
