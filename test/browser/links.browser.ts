import t from 'tap';
import { newPerson, startBrowser, visibleText, waitForOwnAccount } from '../helpers/browser/browser.js';
import { day } from '../helpers/service/clock.js';
import { startClockedService } from '../helpers/service/clocked-service.js';
import { asAdministrator } from '../helpers/users/over-http.js';

const service = await startClockedService(t, { MAILBOX_KEY: 'the-key-of-the-mailbox' });
const browser = await startBrowser(t);
const call = await asAdministrator(service);
const { id: role } = await call('POST', '/roles', { name: 'Invited' });

interface Mail {
  to: string;
  text: string;
}

/** The links with a token in the emails to an address, newest first. */
async function linksTo(address: string, atLeast = 1): Promise<string[]> {
  for (let tries = 0; tries < 200; tries++) {
    const response = await service.get('/mailbox?key=the-key-of-the-mailbox', { accept: 'application/json' });
    const { data } = (await response.json()) as { data: Mail[] };
    const links = data
      .filter(({ to }) => to === address)
      .flatMap(({ text }) => /https?:\/\/\S*[?&]token=\S+/.exec(text) ?? [])
      .map((link) => new URL(link).pathname + new URL(link).search);
    if (links.length >= atLeast) return links;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`No email with a link has arrived for ${address}.`);
}

let people = 0;

async function invited(): Promise<{ email: string; link: string }> {
  const email = `invited-${++people}@example.com`;
  await call('POST', '/users/invite', { email, role });
  return { email, link: (await linksTo(email))[0] ?? '' };
}

t.test('the token of a link is removed from the address bar, and kept for a reload and another language', async (t) => {
  const { email, link } = await invited();
  const person = await newPerson(browser, service);
  const { page, context } = person;
  await context.addCookies([{ name: 'gatehouse_session_token', value: 'of-another-user', url: service.url }]);
  await person.open(link);
  t.equal(new URL(page.url()).search, '');
  await page.getByText(email).waitFor();
  await page.reload();
  await page.getByText(email).waitFor();
  await page.getByRole('link', { name: 'Deutsch' }).click();
  await page.waitForURL(/lang=de-DE$/);
  await page.getByText(email).waitFor();
  t.notMatch(await page.evaluate('location.href'), 'token');
  const sent = page.waitForRequest('**/users/invite/accept');
  await page.locator('[type=password]').fill('a calm meadow in autumn');
  await page.getByRole('button', { name: 'Einladung annehmen' }).click();
  const request = await sent;
  t.strictSame(Object.keys(request.postDataJSON()), ['token', 'password']);
  t.equal((await request.allHeaders()).cookie, undefined);
  await waitForOwnAccount(person);
  t.strictSame(person.complaints(), []);
});

/** What the page offers where a link is not valid. */
const renewals = new Map([
  ['reset-password', 'Request a new link'],
  ['verify-email', 'Register again'],
]);

t.test('a link that is not valid is explained, and not sent again', async (t) => {
  await call('PATCH', '/settings', { public_registration: true });
  const person = await newPerson(browser, service);
  for (const name of ['reset-password', 'accept-invite', 'verify-email']) {
    for (const query of ['', '?token=x']) {
      await person.open(`/account/${name}${query}`);
      await person.page.locator('[data-part=dead]').waitFor();
      t.match(await visibleText(person), 'incomplete or not valid', `${name}${query}`);
      t.equal(await person.page.locator('form:visible, [data-send-again]:visible').count(), 0);
      await person.page.getByRole('link', { name: 'Sign in' }).waitFor();
      const primary = await person.page.locator('.primary:visible').allTextContents();
      const renewal = renewals.get(name);
      t.strictSame(primary, [renewal ?? 'Sign in'], `${name}: the button does what the text says`);
    }
  }
  t.strictSame(person.complaints(), []);
});

t.test('the page about a reset link that is not valid leads to the form for a new one', async (t) => {
  const person = await newPerson(browser, service);
  await person.open('/account/reset-password?token=x');
  await person.page.getByRole('link', { name: 'Request a new link' }).click();
  await person.page.getByRole('heading', { name: 'Reset your password' }).waitFor();
  t.equal(await person.page.getByLabel('Email address').inputValue(), '', 'it does not reveal an address');
});

t.test('after accepting an invitation, users are signed in and asked for their name', async (t) => {
  const { link } = await invited();
  const person = await newPerson(browser, service);
  const { page } = person;
  await person.open(link);
  await page.getByLabel('New password').fill('a calm meadow in autumn');
  await page.getByRole('button', { name: 'Accept invitation' }).click();
  const dialog = page.getByRole('dialog', { name: 'Welcome! What is your name?' });
  await dialog.getByLabel('First name').fill('Ada');
  await dialog.getByLabel('Last name').fill('Lovelace');
  await dialog.getByRole('button', { name: 'Save' }).click();
  t.equal(await person.said('status'), 'Saved.');
  t.equal(await page.locator('[data-name-value]').textContent(), 'Ada Lovelace');
  await page.reload();
  await waitForOwnAccount(person);
  t.equal(await page.locator('dialog[open]').count(), 0, 'only once');
  await page.locator('#name-edit').click();
  await page.getByRole('dialog', { name: 'Edit profile' }).waitFor();
  await person.open('/account/profile?change=name');
  await waitForOwnAccount(person);
  t.equal(await page.locator('dialog[open]').count(), 0, 'not if there is a name');
  t.strictSame(person.complaints(), []);
});

t.test('a long address breaks before its punctuation, and not within a word', async (t) => {
  const email = 'maria-antonietta.di-giovanni@department-of-administration.university.example';
  await call('POST', '/users/invite', { email, role });
  const person = await newPerson(browser, service, { viewport: { width: 360, height: 700 } });
  const { page } = person;
  await person.open((await linksTo(email))[0] ?? '');
  await page.getByText(email).waitFor();
  const lines = await page.evaluate<string[]>(`(() => {
    const lines = [];
    let last;
    const texts = document.createTreeWalker(document.querySelector('[data-whose]'), NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node; node = texts.nextNode()) {
      for (let at = 0; at < node.textContent.length; at++) {
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + 1);
        const { top } = range.getBoundingClientRect();
        if (top !== last) lines.push('');
        last = top;
        lines[lines.length - 1] += range.toString();
      }
    }
    return lines;
  })()`);
  t.equal(lines.join(''), email);
  t.ok(lines.length > 1);
  for (const [index, line] of lines.slice(1).entries()) t.match(`${lines[index]}|${line}`, /-\||\|[@.+_-]/);
});

t.test('users can choose another password if theirs is rejected', async (t) => {
  const { link } = await invited();
  const person = await newPerson(browser, service);
  const { page } = person;
  const errors = [{ message: 'x', extensions: { code: 'FAILED_VALIDATION', field: 'password' } }];
  await page.route('**/users/invite/accept', (route) => route.fulfill({ status: 400, json: { errors } }));
  await person.open(link);
  await page.getByLabel('New password').fill('a calm meadow in autumn');
  await page.getByRole('button', { name: 'Accept invitation' }).click();
  await page.getByText('Choose a longer or less common one').waitFor();
  t.equal(await page.locator('[data-part=form]').isVisible(), true);
});

// The last one, because the administrator's token expires too.
t.test('an expired link is replaced with one click, by an email to the address of the account', async (t) => {
  const { email, link } = await invited();
  service.clock.advance(60 * day);
  const person = await newPerson(browser, service, { viewport: { width: 390, height: 780 } });
  const { page } = person;
  await person.open(link);
  await page.getByText('This invitation has expired.').waitFor();
  t.notMatch(await visibleText(person), email, 'an expired link does not reveal the address');
  await page.getByRole('button', { name: 'Send a new email' }).click();
  await page.getByText('a new email is on its way').waitFor();
  const [newest = ''] = await linksTo(email, 2);
  await person.open(newest);
  await page.getByText(email).waitFor();
  t.strictSame(person.complaints(), []);
});
