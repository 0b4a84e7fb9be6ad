import t from 'tap';
import {
  focused,
  newPerson,
  openDialog,
  ownEmail,
  type Person,
  signIn,
  startBrowser,
  waitForOwnAccount,
} from '../helpers/browser/browser.js';
import { freePort } from '../helpers/servers/ports.js';
import { createHome, startService } from '../helpers/service/service.js';
import { asAdministrator, createUserOverHttp, variables } from '../helpers/users/over-http.js';
import { currentCode, previousCode } from '../helpers/users/totp.js';

const port = String(await freePort());
const service = await startService(await createHome(t, { prepared: true }), {
  ...variables,
  PORT: port,
  PUBLIC_URL: `http://127.0.0.1:${port}`,
  MAILBOX_KEY: 'the-key-of-the-mailbox',
});
const browser = await startBrowser(t);
const call = await asAdministrator(service);
const password = 'a good long password';

/** Opens the newest email to an address in the mailbox, and follows its link. */
async function followMail({ page, open }: Person, email: string, subject = ''): Promise<void> {
  const mail = page.getByRole('link').filter({ hasText: email }).filter({ hasText: subject }).first();
  for (let tries = 0; tries < 40 && (await mail.count()) === 0; tries++) {
    await page.waitForTimeout(250);
    await open('/mailbox?key=the-key-of-the-mailbox');
  }
  await mail.click();
  await page.frameLocator('iframe').getByRole('link').first().waitFor();
  await page.getByRole('link', { name: 'Open the link' }).click();
}

for (const [device, viewport] of Object.entries({
  desk: { width: 1280, height: 800 },
  phone: { width: 375, height: 700 },
})) {
  t.test(`a visitor registers, verifies their address, and signs in (${device})`, async (t) => {
    await call('PATCH', '/settings', { public_registration: true });
    const person = await newPerson(browser, service, { viewport });
    const { page } = person;
    const email = `register-${device}@example.com`;
    await person.open('/account/login');
    await page.getByRole('link', { name: 'Create an account' }).click();
    await page.getByLabel('Email address').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.locator('[data-part=done]').waitFor();
    await followMail(person, email);
    await page.waitForURL(/\/account\/verify-email/);
    t.notMatch(page.url(), 'token');
    await page.getByText(email).waitFor();
    await page.getByRole('button', { name: 'Confirm' }).click();
    t.match(await person.said('status'), 'Your email address is confirmed.');
    t.equal(await page.getByLabel('Email address').inputValue(), email, 'the address is filled in');
    t.equal(await focused(person), 'password');
    t.equal(await page.evaluate('sessionStorage.length'), 0);
    await page.keyboard.type(password);
    await page.keyboard.press('Enter');
    await waitForOwnAccount(person);
    t.strictSame(person.complaints(), []);
  });

  t.test(
    `a visitor who opens the link in another browser chooses a password and is signed in (${device})`,
    async (t) => {
      await call('PATCH', '/settings', { public_registration: true });
      const email = `elsewhere-${device}@example.com`;
      await service.post('/users/register', { email, password });
      const person = await newPerson(browser, service, { viewport });
      await person.open('/mailbox?key=the-key-of-the-mailbox');
      await followMail(person, email);
      await person.page.waitForURL(/\/account\/verify-email/);
      await person.page.getByLabel('Password', { exact: true }).fill('another calm meadow');
      await person.page.getByRole('button', { name: 'Confirm' }).click();
      await waitForOwnAccount(person);
      t.equal(await ownEmail(person), email);
      t.strictSame(person.complaints(), []);
    },
  );

  t.test(`an invited user accepts the invitation and is signed in (${device})`, async (t) => {
    const email = `invite-${device}@example.com`;
    const role = await call('POST', '/roles', { name: 'Invited' });
    await call('POST', '/users/invite', { email, role: role.id });
    const person = await newPerson(browser, service, { viewport });
    const { page } = person;
    await person.open('/mailbox?key=the-key-of-the-mailbox');
    await followMail(person, email);
    await page.waitForURL(/\/account\/accept-invite/);
    await page.getByLabel('New password').fill(password);
    await page.getByText(email).waitFor();
    await page.getByRole('button', { name: 'Accept invitation' }).click();
    await waitForOwnAccount(person);
    t.equal(await ownEmail(person), email);
    t.strictSame(person.complaints(), []);
  });

  t.test(`a user resets a forgotten password and signs in (${device})`, async (t) => {
    const { email, password: old } = await createUserOverHttp(service);
    const person = await newPerson(browser, service, { viewport });
    const { page } = person;
    await person.open('/account/login');
    await page.getByRole('link', { name: 'Forgot your password?' }).click();
    await page.getByLabel('Email address').fill(email);
    await page.locator('[type=submit]').click();
    await page.locator('[data-part=done]').waitFor();
    await followMail(person, email);
    await page.waitForURL(/\/account\/reset-password/);
    await page.getByLabel('New password').fill(password);
    await page.getByText(email).waitFor();
    await page.getByRole('button', { name: 'Save password' }).click();
    await waitForOwnAccount(person);
    t.equal(await ownEmail(person), email);
    t.strictSame(person.complaints(), []);

    const later = await newPerson(browser, service, { viewport });
    await signIn(later, email, old);
    t.match(await later.said('alert'), /./, 'the old password is rejected');
  });
}

t.test('after a reset, users with two-factor authentication are asked for a code', async (t) => {
  const { email, password: old } = await createUserOverHttp(service);
  const owner = await newPerson(browser, service);
  await signIn(owner, email, old);
  await waitForOwnAccount(owner);
  await openDialog(owner, 'security', 'tfa-setup');
  await owner.page.locator('#tfa-password').fill(old);
  await owner.page.keyboard.press('Enter');
  await owner.page.locator('.qr-code svg').waitFor();
  const secret = (await owner.page.locator('[data-secret]').textContent()) ?? '';
  await owner.page.locator('#tfa-code').fill(await previousCode(secret));
  await owner.page.locator('[data-codes] li').nth(9).waitFor();

  const person = await newPerson(browser, service);
  const { page } = person;
  await service.post('/auth/password/request', { email });
  await followMail(person, email, 'Reset your');
  await page.getByLabel('New password').fill(password);
  await page.getByRole('button', { name: 'Save password' }).click();
  await page.getByRole('heading', { name: 'Enter your code' }).waitFor();
  t.equal(await focused(person), 'otp');
  await page.getByLabel('Code from your authenticator app').fill(currentCode(secret));
  await waitForOwnAccount(person);
  t.equal(await ownEmail(person), email);
});

t.test('password managers find the page for changing the password, also before signing in', async (t) => {
  const user = await createUserOverHttp(service);
  const person = await newPerson(browser, service);
  await person.open('/.well-known/change-password');
  await person.page.waitForURL(/\/account\/login\?redirect=/);
  await person.page.getByLabel('Email address').fill(user.email);
  await person.page.getByLabel('Password', { exact: true }).fill(user.password);
  await person.page.keyboard.press('Enter');
  await person.page.getByRole('dialog', { name: 'Change password' }).waitFor();
  t.equal(await focused(person), 'new-password');
  t.match(person.page.url(), /\/account\/security$/);
  t.strictSame(person.complaints(), []);
});

t.test('an unknown page under /account is explained to people, in their language', async (t) => {
  const person = await newPerson(browser, service, { locale: 'de-DE' });
  await person.open('/account/nothing/here');
  await person.page.getByRole('heading', { name: 'Seite nicht gefunden' }).waitFor();
  t.match(person.complaints(), [/404/]);
  await person.page.getByRole('link', { name: 'Zu Ihrem Konto' }).click();
  await person.page.waitForURL(/\/account\/login/);
});
