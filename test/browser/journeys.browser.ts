import t from 'tap';
import { newPerson, type Person, readable, seesOwnAccount, signIn, startBrowser } from '../helpers/browser.js';
import { asAdministrator, createUser, variables } from '../helpers/people.js';
import { createHome, freePort, startService } from '../helpers/service.js';

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
async function followMail({ page, open }: Person, email: string): Promise<void> {
  const mail = page.getByRole('link').filter({ hasText: email }).first();
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
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.locator('[data-part=done]').waitFor();
    t.notMatch(page.url(), 'token');
    await signIn(person, email, password);
    await seesOwnAccount(person);
    t.strictSame(person.complaints(), []);
  });

  t.test(`an invited user accepts the invitation and signs in (${device})`, async (t) => {
    const email = `invite-${device}@example.com`;
    const role = await call('POST', '/roles', { name: 'Invited' });
    await call('POST', '/users/invite', { email, role: role.id });
    const person = await newPerson(browser, service, { viewport });
    const { page } = person;
    await person.open('/mailbox?key=the-key-of-the-mailbox');
    await followMail(person, email);
    await page.waitForURL(/\/account\/accept-invite/);
    await page.getByLabel('New password').fill(password);
    await page.getByRole('button', { name: 'Accept invitation' }).click();
    await page.locator('[data-part=done]').waitFor();
    await signIn(person, email, password);
    await seesOwnAccount(person);
    t.strictSame(person.complaints(), []);
  });

  t.test(`a user resets a forgotten password and signs in (${device})`, async (t) => {
    const { email, password: old } = await createUser(service, []);
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
    await page.getByRole('button', { name: 'Save password' }).click();
    await page.locator('[data-part=done]').waitFor();
    await signIn(person, email, old);
    t.match(await person.said('alert'), /./, 'the old password is rejected');
    person.complaints();
    await signIn(person, email, password);
    await seesOwnAccount(person);
    t.match(await readable(person), email);
    t.strictSame(person.complaints(), []);
  });
}
