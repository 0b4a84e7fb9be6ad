import t, { type Test } from 'tap';
import {
  accessibilityViolations,
  focused,
  newPerson,
  nextFrames,
  openDialog,
  openSection,
  ownEmail,
  type Person,
  saveScreenshot,
  signIn,
  startBrowser,
  waitForForm,
  waitForOwnAccount,
} from '../helpers/browser/browser.js';
import { codeIn, mailsTo, otherCode } from '../helpers/mail/mails.js';
import { startOauth2Server } from '../helpers/providers/oauth2-server.js';
import { freePort } from '../helpers/servers/ports.js';
import { minute } from '../helpers/service/clock.js';
import { startClockedService } from '../helpers/service/clocked-service.js';
import { createUserOverHttp, type User } from '../helpers/users/over-http.js';
import { currentCode } from '../helpers/users/totp.js';

const port = String(await freePort());
const publicUrl = `http://localhost:${port}`;
const provider = await startOauth2Server(t, { publicUrl, keys: ['forum'] });
const service = await startClockedService(t, {
  PORT: port,
  PUBLIC_URL: publicUrl,
  AUTH_PROVIDERS: 'forum',
  ...provider.variables('forum', { LABEL: 'Forum', ALLOW_PUBLIC_REGISTRATION: 'true' }),
});
const browser = await startBrowser(t);

const button = ({ page }: Person, name: string) => page.getByRole('button', { name, exact: true });
const dialog = ({ page }: Person) => page.getByRole('dialog', { name: 'Confirm that it’s you' });
const says = ({ page }: Person, words: string) => page.getByText(words).waitFor();
/** Advances the clock by a little more than the default of REAUTHENTICATION_PERIOD. */
const growStale = () => service.clock.advance(16 * minute);

async function signedIn(user: User, options = {}): Promise<Person> {
  const person = await newPerson(browser, service, options);
  await signIn(person, user.email, user.password);
  await waitForOwnAccount(person);
  return person;
}

async function changePassword(person: Person, password: string): Promise<void> {
  if (!(await person.page.locator('[data-dialog=password]').isVisible())) {
    await openDialog(person, 'security', 'password');
  }
  await person.page.getByLabel('New password').fill(password);
  await button(person, 'Change password').click();
}

async function requestEmail(person: Person, email: string): Promise<void> {
  if (!(await person.page.locator('[data-dialog=email]').isVisible())) await openDialog(person, 'profile', 'email');
  await person.page.getByLabel('New email address').fill(email);
  await person.page.locator('#email-form [type=submit]').click();
}

async function proveWith(person: Person, label: string, value: string): Promise<void> {
  await dialog(person).getByLabel(label, { exact: true }).fill(value);
  // A code of six digits is submitted automatically.
  if (!/^\d{6}$/.test(value)) await person.page.locator('#proof [type=submit]').click();
}

/** A user without a password, signed in by a provider. */
async function signedInByProvider(options = {}): Promise<Person> {
  provider.profile = { id: ++people, email: `somebody-${people}@forum.example` };
  const person = await newPerson(browser, service, options);
  await person.open('/account/login');
  await person.page.getByRole('link', { name: 'Continue with Forum' }).click();
  await waitForOwnAccount(person);
  return person;
}
let people = 0;

t.test('if the session is not fresh, the page asks for the password and then continues', async (t) => {
  const user = await createUserOverHttp(service);
  const person = await signedIn(user);
  const { page } = person;
  growStale();
  await changePassword(person, 'a calm meadow in autumn');
  await dialog(person).waitFor();
  t.equal(await focused(person), 'proof-password');
  await page.keyboard.press('Enter');
  t.equal(await dialog(person).locator('.fault:visible').textContent(), 'Enter a password.');
  await proveWith(person, 'Current password', 'not the password');
  await says(person, 'The password is incorrect. Try again.');
  t.equal(await focused(person), 'proof-password');
  await page.keyboard.type(user.password);
  await page.keyboard.press('Enter');
  await says(person, 'Password changed.');
  t.equal(await page.getByRole('dialog').count(), 0);
  await nextFrames(person);
  t.equal(await page.locator('#proof-password').inputValue(), '');

  await requestEmail(person, 'fresh-session@example.org');
  await says(person, 'We sent a link to fresh-session@example.org.');
  t.pass('the session is now fresh');
  const again = await signedIn({ ...user, password: 'a calm meadow in autumn' });
  t.equal(await ownEmail(again), user.email);
});

t.test('nothing changes if the user does not confirm their identity', async (t) => {
  const user = await createUserOverHttp(service);
  const person = await signedIn(user);
  const { page } = person;
  growStale();
  for (const leave of [
    () => dialog(person).getByRole('button', { name: 'Cancel' }).click(),
    () => page.keyboard.press('Escape'),
  ]) {
    await changePassword(person, 'a calm meadow in autumn');
    await proveWith(person, 'Current password', 'not the password');
    await says(person, 'The password is incorrect. Try again.');
    await leave();
    await dialog(person).waitFor({ state: 'hidden' });
    await waitForForm(person, '#password-form');
    await nextFrames(person);
    t.equal(await page.locator('[data-alert]:not(:empty), [data-status]:not(:empty)').count(), 0);
    t.equal(await page.locator('.fault:not(:empty)').count(), 0);
    t.equal(await page.getByLabel('New password').inputValue(), 'a calm meadow in autumn', 'the input is kept');
  }
  await signedIn(user);
});

t.test('a session that has ended in the meantime leads to the login page', async () => {
  const user = await createUserOverHttp(service);
  const person = await signedIn(user);
  growStale();
  await changePassword(person, 'a calm meadow in autumn');
  await dialog(person).waitFor();
  const elsewhere = await signedIn(user);
  await openSection(elsewhere, 'sessions');
  await button(elsewhere, 'Sign out everywhere else').click();
  await elsewhere.page.locator('[data-yes]').click();
  await says(elsewhere, 'You are signed out everywhere else.');
  await proveWith(person, 'Current password', user.password);
  await person.page.waitForURL(/\/account\/login\?redirect=/);
});

t.test('users with two-factor authentication are asked for a code', async (t) => {
  const user = await createUserOverHttp(service);
  const person = await signedIn(user);
  const { page } = person;
  await openDialog(person, 'security', 'tfa-setup');
  await page.locator('#tfa-password').fill(user.password);
  await page.keyboard.press('Enter');
  await page.locator('.qr-code svg').waitFor();
  const secret = (await page.locator('[data-secret]').textContent()) ?? '';
  growStale();
  await page.locator('#tfa-code').fill(currentCode(secret, service.clock.now()));
  await proveWith(person, 'Current password', user.password);
  await page.locator('[data-codes] li').nth(9).waitFor();
  const [recoveryCode = ''] = await page.locator('[data-codes] li').allTextContents();
  await person.page.getByLabel('I have saved these codes').check();
  await button(person, 'Done').click();

  growStale();
  await changePassword(person, 'a calm meadow in autumn');
  await dialog(person).waitFor();
  t.equal(await dialog(person).getByLabel('Current password').isVisible(), false);
  await proveWith(person, 'Code from your authenticator app', '000000');
  await says(person, 'The code is incorrect');
  await proveWith(person, 'Code from your authenticator app', currentCode(secret, service.clock.now()));
  await says(person, 'Password changed.');

  growStale();
  await openDialog(person, 'security', 'tfa-renew');
  await page.locator('#tfa-recovery-password').fill('a calm meadow in autumn');
  await page.keyboard.press('Enter');
  await dialog(person).getByRole('button', { name: 'Use a recovery code' }).click();
  await proveWith(person, 'Recovery code', recoveryCode);
  await page.locator('[data-codes] li').nth(9).waitFor();
  t.not(await page.locator('[data-codes] li').first().textContent(), recoveryCode);
});

t.test('accounts are linked and unlinked after the user confirms their identity', async () => {
  const user = await createUserOverHttp(service);
  provider.profile = { id: ++people };
  const person = await signedIn(user);
  growStale();
  await openSection(person, 'connections');
  await button(person, 'Connect Forum').click();
  await proveWith(person, 'Current password', user.password);
  await says(person, 'The account is connected.');
  growStale();
  await button(person, 'Disconnect Forum').click();
  await person.page.locator('[data-yes]').click();
  await proveWith(person, 'Current password', user.password);
  await says(person, 'The account is disconnected.');
});

t.test('users without a password sign in through their provider again', async (t) => {
  const person = await signedInByProvider();
  const { page } = person;
  growStale();
  const change = () => requestEmail(person, 'from-the-forum@example.org');
  await change();
  await dialog(person).waitFor();
  t.equal(await dialog(person).getByRole('textbox').count(), 0);
  t.equal(await dialog(person).locator('[type=submit]:visible').count(), 0);
  await dialog(person).getByRole('link', { name: 'Continue with Forum' }).click();
  await says(person, 'You have signed in again. You can now try again.');
  t.equal(page.url(), `${publicUrl}/account/profile`);
  await change();
  await says(person, 'We sent a link to from-the-forum@example.org.');

  growStale();
  await button(person, 'Cancel the change').click();
  await says(person, 'The change was canceled.');
  provider.answers['/token'] = (response) => response.writeHead(503).end();
  await change();
  await dialog(person).getByRole('link', { name: 'Continue with Forum' }).click();
  await says(person, 'The sign-in service that you chose is not available.');
  provider.answers = {};
});

t.test('users without a password enter a code from an email', async (t) => {
  const person = await signedInByProvider();
  const { page } = person;
  const address = await ownEmail(person);
  const code = async () => codeIn((await mailsTo(service.app, address)).at(-1) ?? { text: '' });
  growStale();
  await requestEmail(person, 'by-email-code@example.org');
  await dialog(person).waitFor();
  const focus = await page.evaluate('document.activeElement.textContent');
  t.equal(focus, 'Email me a code', 'the focus is not on the button that closes the dialog');
  await dialog(person).getByRole('button', { name: 'Email me a code' }).click();
  await says(person, 'We sent a six-digit code');
  t.equal(await focused(person), 'proof-email-code');
  t.equal(await dialog(person).locator('[data-send-again]').isDisabled(), true);
  await proveWith(person, 'Code from the email', otherCode(await code()));
  await says(person, 'This code is incorrect or no longer valid.');
  await page.keyboard.press('Escape');
  await requestEmail(person, 'by-email-code@example.org');
  t.equal(await dialog(person).getByRole('textbox').count(), 0, 'the dialog starts over');
  await dialog(person).getByRole('button', { name: 'Email me a code' }).click();
  await says(person, 'We sent a six-digit code');
  await proveWith(person, 'Code from the email', await code());
  await says(person, 'We sent a link to by-email-code@example.org.');
});

t.test('users without an email address are asked for one', async () => {
  provider.profile = { id: ++people };
  const person = await newPerson(browser, service);
  await person.open('/account/login');
  await person.page.getByRole('link', { name: 'Continue with Forum' }).click();
  await waitForOwnAccount(person);
  await says(person, 'Without an email address, you cannot reset your password');
  await requestEmail(person, 'first-address@example.org');
  await says(person, 'We sent a link to first-address@example.org.');
});

t.test('if the page does not support any of the methods, it explains what to do', async (t) => {
  const person = await signedIn(await createUserOverHttp(service));
  const errors = [
    { message: 'x', extensions: { code: 'REAUTHENTICATION_REQUIRED', max_age: 900, methods: ['another'] } },
  ];
  await person.page.route('**/users/me/password', (route) => route.fulfill({ status: 403, json: { errors } }));
  await changePassword(person, 'a calm meadow in autumn');
  t.match(await person.said('alert'), 'Sign out, sign in again');
});

for (const colorScheme of ['light', 'dark'] as const) {
  t.test(`the dialog is accessible and fits a phone screen, ${colorScheme}`, async (t) => {
    const options = { colorScheme, bypassCSP: true, viewport: { width: 320, height: 640 } };
    const check = async (t: Test, person: Person, state: string) => {
      await person.page.locator('[data-dialog=proof][open]').waitFor();
      t.strictSame(await accessibilityViolations(person), [], `${state}, ${colorScheme}`);
      t.equal(await person.page.evaluate('document.documentElement.scrollWidth > innerWidth'), false, state);
      const box = await person.page.locator('[data-dialog=proof]').boundingBox();
      t.ok(box && box.x >= 8 && box.y >= 8 && box.x + box.width <= 312, `${state}: the dialog is centered`);
      await saveScreenshot(person, `${state}-${colorScheme}`);
    };
    const person = await signedIn(await createUserOverHttp(service), options);
    growStale();
    for (const lang of ['de-DE', 'en-US', 'es-ES', 'fr-FR', 'zh-CN']) {
      await person.open(`/account/security?lang=${lang}`);
      await waitForOwnAccount(person);
      await person.page.locator('#password-edit').click();
      await person.page.locator('#new-password').fill('a calm meadow in autumn');
      await person.page.locator('#password-form [type=submit]').click();
      await check(t, person, `proof-${lang}`);
    }
    await person.page.locator('#proof [type=submit]').click();
    await person.page.locator('#proof .fault:not(:empty)').waitFor();
    await check(t, person, 'proof-fault');

    const byProvider = await signedInByProvider(options);
    growStale();
    await requestEmail(byProvider, 'from-the-forum@example.org');
    await check(t, byProvider, 'proof-provider');
    await dialog(byProvider).getByRole('button', { name: 'Email me a code' }).click();
    await says(byProvider, 'We sent a six-digit code');
    await check(t, byProvider, 'proof-email');
  });
}
