// @suite not-everyday: tries many cases

import { randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import {
  accessibilityViolations,
  cookiesOf,
  focused,
  newPerson,
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
import { startOauth2Server } from '../helpers/providers/oauth2-server.js';
import { freePort } from '../helpers/servers/ports.js';
import { json, status } from '../helpers/servers/web-server.js';
import { createHome, startService } from '../helpers/service/service.js';
import { administrator } from '../helpers/users/credentials.js';
import { asAdministrator, createUserOverHttp, type User, variables } from '../helpers/users/over-http.js';
import { currentCode, previousCode } from '../helpers/users/totp.js';

const port = String(await freePort());
// A different site than the provider, as in production.
const publicUrl = `http://localhost:${port}`;
const keys = ['forum', 'work'];
const provider = await startOauth2Server(t, { publicUrl, keys });
const home = await createHome(t, { prepared: true });
const settings = {
  ...variables,
  PORT: port,
  PUBLIC_URL: publicUrl,
  AUTH_PROVIDERS: 'forum,work',
  ...provider.variables('forum', { LABEL: 'Forum', ALLOW_PUBLIC_REGISTRATION: 'true' }),
  ...provider.variables('work', { LABEL: 'Work ID', ROLE_MAPPING: JSON.stringify({ staff: randomUUID() }) }),
};
const service = await startService(home, settings);
const browser = await startBrowser(t);

const languages = ['de-DE', 'en-US', 'es-ES', 'fr-FR', 'zh-CN'];
const phone = { viewport: { width: 360, height: 740 } };

const someone = (options = {}) => newPerson(browser, service, { baseURL: publicUrl, ...options });
const button = ({ page }: Person, name: string) => page.getByRole('button', { name, exact: true });
const link = ({ page }: Person, name: string) => page.getByRole('link', { name, exact: true });
const section = ({ page }: Person) => page.locator('[data-panel=connections]');
const confirmed = ({ page }: Person) => page.getByRole('alertdialog').locator('[data-yes]').click();
/** Whether an account is connected. */
const connected = (person: Person) => section(person).getByRole('button', { name: /^Disconnect/ });
const isTooWide = ({ page }: Person) => page.evaluate('document.documentElement.scrollWidth > innerWidth');
const isKept = ({ page }: Person) => page.evaluate(`sessionStorage.getItem('/auth/login') !== null`);
const says = (person: Person, words: string) => person.page.getByText(words).waitFor();

let people = 0;

/** Creates the account that the provider signs in from now on. It is new to the service. */
function newcomer(): string {
  const id = ++people;
  const email = `somebody-${id}@forum.example`;
  provider.profile = { id, email, name: `Somebody ${id}` };
  return email;
}

async function signedIn(user: User, options = {}): Promise<Person> {
  const person = await someone(options);
  await signIn(person, user.email, user.password);
  await waitForOwnAccount(person);
  return person;
}

/** Creates a user with a password, a linked account, and two-factor authentication. */
async function createProtected(): Promise<{ secret: string; codes: string[] }> {
  newcomer();
  const user = await createUserOverHttp(service, { canChange: ['tfa_secret'] });
  const person = await signedIn(user);
  await openSection(person, 'connections');
  await button(person, 'Connect Forum').click();
  await says(person, 'The account is connected.');
  await openDialog(person, 'security', 'tfa-setup');
  await person.page.locator('#tfa-password').fill(user.password);
  await person.page.keyboard.press('Enter');
  await person.page.locator('.qr-code svg').waitFor();
  const secret = (await person.page.locator('[data-secret]').textContent()) ?? '';
  await person.page.locator('#tfa-code').fill(await previousCode(secret));
  await person.page.locator('[data-codes] li').nth(9).waitFor();
  const codes = await person.page.locator('[data-codes] li').allTextContents();
  await person.context.close();
  return { secret, codes };
}

t.test('a button leads to the provider, which redirects back to the requested page', async (t) => {
  const email = newcomer();
  const person = await someone();
  await person.open('/account/login?redirect=/account/register');
  await link(person, 'Continue with Work ID').waitFor();
  t.strictSame(await person.page.locator('.providers a').allTextContents(), [
    'Continue with Forum',
    'Continue with Work ID',
  ]);
  await link(person, 'Continue with Forum').click();
  await person.page.waitForURL(`${publicUrl}/account/register`);
  await person.open('/account');
  await waitForOwnAccount(person);
  t.equal(await ownEmail(person), email);
  t.equal(await isKept(person), false);
  t.strictSame(person.complaints(), []);
});

t.test('a login by provider with two-factor authentication asks for a code', async (t) => {
  const { secret, codes } = await createProtected();
  const person = await someone(phone);
  const { page } = person;
  const field = page.locator('#provider-otp');
  await person.open('/account/login?redirect=/account/register?x%3D1&lang=en-US');
  await link(person, 'Continue with Forum').click();
  await field.waitFor();
  t.equal(await focused(person), 'provider-otp');
  t.match(page.url(), /redirect=.*lang=en-US/);
  t.equal(await page.locator('#email').count(), 0);
  t.equal(await page.locator('.providers').count(), 0);
  t.equal(await isTooWide(person), false);
  await saveScreenshot(person, 'code');
  await page.keyboard.press('Enter');
  t.equal(await person.said('fault'), 'Enter the code from your authenticator app.');
  await field.fill('000 000');
  await says(person, 'The code is incorrect');
  t.equal(await focused(person), 'provider-otp');
  await page.reload();
  await field.waitFor();
  t.pass('the code is still requested after a reload');
  const otp = currentCode(secret);
  const sent = page.waitForRequest('**/auth/login/forum');
  await field.fill(otp.replace(/^.../, '$& '));
  t.strictSame((await sent).postDataJSON(), { otp, mode: 'session' });
  await page.waitForURL(`${publicUrl}/account/register?x=1`);
  const cookies = await cookiesOf(person, publicUrl);
  t.strictSame(cookies.map(({ name }) => name).sort(), ['gatehouse_language', 'gatehouse_session_token']);
  await person.open('/account');
  await waitForOwnAccount(person);
  t.equal(await isKept(person), false);

  const lost = await someone();
  await lost.open('/account/login');
  await link(lost, 'Continue with Forum').click();
  await button(lost, 'Use a recovery code').click();
  t.equal(await focused(lost), 'provider-otp');
  await lost.page.getByLabel('Recovery code').fill(codes[0] ?? '');
  await lost.page.keyboard.press('Enter');
  await waitForOwnAccount(lost);
});

t.test('a login by provider keeps the language that the user chose', async () => {
  await createProtected();
  const person = await someone();
  await person.open('/account/login?lang=de');
  await link(person, 'Weiter mit Forum').click();
  await person.page.getByLabel('Code aus Ihrer Authenticator-App').waitFor();
  await link(person, 'Français').click();
  await person.page.getByLabel('Code de votre application d’authentification').waitFor();
});

t.test('users can start over if the code is late, and too many wrong codes are blocked', async (t) => {
  const { secret } = await createProtected();
  const person = await someone();
  const { page, context } = person;
  const field = page.locator('#provider-otp');
  const begin = async () => {
    await link(person, 'Continue with Forum').click();
    await field.waitFor();
  };
  await person.open('/account/login');
  await begin();
  await context.clearCookies();
  await field.fill(currentCode(secret));
  t.equal(await person.said('alert'), 'The sign-in took too long or was started elsewhere. Start again.');
  t.equal(await field.count(), 0);
  t.equal(await isKept(person), false);
  await saveScreenshot(person, 'start-again');

  await begin();
  await button(person, 'Sign in to another account').click();
  await page.locator('#email').waitFor();
  t.notMatch(page.url(), 'reason');
  t.equal(await person.page.locator('main [data-alert]').textContent(), '');

  await link(person, 'Continue with Forum').waitFor();
  await begin();
  for (let tries = 0; tries < 6; tries++) {
    const answer = page.waitForResponse('**/auth/login/forum');
    await field.fill(`00000${tries}`);
    await answer;
    await waitForForm(person, '#provider-code');
  }
  t.match(await person.said('alert'), /Too many attempts\. Try again in (29|30) seconds\./);
  await saveScreenshot(person, 'too-often');

  const elsewhere = await someone();
  await elsewhere.open('/account/login?reason=INVALID_OTP');
  t.match(await elsewhere.said('alert'), 'Start again.');
  await link(elsewhere, 'Continue with Forum').waitFor();
});

t.test('an unusable session cookie does not prevent entering the code', async () => {
  const { secret } = await createProtected();
  const person = await someone();
  await person.open('/account/login');
  await link(person, 'Continue with Forum').click();
  await person.page.locator('#provider-otp').waitFor();
  await person.context.addCookies([{ name: 'gatehouse_session_token', value: 'nonsense', url: publicUrl }]);
  await person.page.reload();
  await person.page.locator('#provider-otp').fill(currentCode(secret));
  await waitForOwnAccount(person);
});

t.test('without password logins, the page still asks for the code', async (t) => {
  const only = await startService(await createHome(t, { prepared: true }), {
    ...variables,
    AUTH_DISABLE_DEFAULT: 'true',
    AUTH_PROVIDERS: 'forum',
    ...provider.variables('forum'),
  });
  const person = await newPerson(browser, only);
  const { page } = person;
  await page.route('**/auth/login/forum?**', (route) =>
    route.fulfill({ status: 302, headers: { location: '/account/login?reason=INVALID_OTP' } }),
  );
  await page.route('**/auth/login/forum', (route) => route.fulfill({ json: { data: {} } }));
  await person.open('/account/login?redirect=/account/register');
  t.equal(await page.locator('#email').count(), 0);
  await link(person, 'Continue with forum').click();
  await page.locator('#provider-otp').fill('123456');
  await page.waitForURL(`${only.url}/account/register`);
});

t.test('the page explains why a login failed', async (t) => {
  const person = await someone();
  for (const [reason, words] of [
    ['INVALID_CREDENTIALS', 'The sign-in was not completed, or there is no account for you here.'],
    ['INVALID_PROVIDER', 'Sign in the way you did before, then connect this provider on your account page.'],
    ['SERVICE_UNAVAILABLE', 'The sign-in service that you chose is not available.'],
    ['INVALID_PROVIDER_CONFIG', 'The connection to this provider is not set up correctly.'],
    ['INVALID_OTP', 'Start again.'],
    ['NONSENSE', 'That did not work.'],
  ] as const) {
    await person.open(`/account/login?reason=${reason}`);
    t.match(await person.said('alert'), words);
  }
  const user = await createUserOverHttp(service);
  provider.profile = { id: ++people, email: user.email };
  await person.open('/account/login?redirect=/account/register&lang=en-US');
  await link(person, 'Continue with Forum').click();
  await person.page.waitForURL(/reason=INVALID_PROVIDER/);
  t.match(await person.said('alert'), 'Sign in the way you did before');
  await person.page.getByLabel('Email address').fill(user.email);
  await person.page.getByLabel('Password', { exact: true }).fill(user.password);
  await button(person, 'Sign in').click();
  await person.page.waitForURL(`${publicUrl}/account/register`);
  t.pass('the user returns to the page that they requested first');
});

t.test('users can link an account, sign in with it, and unlink it', async (t) => {
  const user = await createUserOverHttp(service);
  const email = newcomer();
  const person = await signedIn(user);
  const { page } = person;
  await openSection(person, 'connections');
  t.equal(await section(person).getByRole('listitem').count(), 2);
  t.equal(await connected(person).count(), 0);
  await button(person, 'Connect Forum').click();
  await says(person, 'The account is connected. You can now sign in with it.');
  t.equal(page.url(), `${publicUrl}/account/connections`);
  t.match(
    await section(person).getByRole('listitem').first().innerText(),
    new RegExp(`Forum\\s+${email}\\s+Connected .*not used yet`),
  );
  t.equal(await button(person, 'Connect Forum').count(), 0);
  await button(person, 'Connect Work ID').waitFor();
  t.equal(await isKept(person), false);

  const other = await someone();
  await other.open('/account/login');
  await link(other, 'Continue with Forum').click();
  await waitForOwnAccount(other);
  t.equal(await ownEmail(other), user.email);
  await openSection(other, 'connections');
  t.match(await section(other).innerText(), /last used \w+ \d+, \d{4}/);

  const disconnect = button(person, 'Disconnect Forum');
  const question = page.getByRole('alertdialog', { name: 'Disconnect Forum?' });
  await disconnect.click();
  await question.getByText('You will no longer be able to sign in with Forum').waitFor();
  t.equal(await page.evaluate('document.activeElement.textContent'), 'Cancel');
  await page.keyboard.press('Enter');
  t.equal(await question.count(), 0);
  t.equal(await focused(person), 'connected-0-act');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  t.equal(await question.count(), 0);
  t.equal(await focused(person), 'connected-0-act');
  await disconnect.click();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await says(person, 'The account is disconnected.');
  t.equal(await connected(person).count(), 0);
  await button(person, 'Connect Forum').waitFor();
  t.strictSame(person.complaints(), []);
  await other.page.reload();
  await other.page.waitForURL(/\/account\/login/);
  t.pass('other sessions have ended');
});

t.test('the only way to sign in cannot be unlinked', async (t) => {
  newcomer();
  const person = await someone();
  const { page } = person;
  await person.open('/account/login');
  await link(person, 'Continue with Forum').click();
  await waitForOwnAccount(person);
  await openSection(person, 'connections');
  await button(person, 'Disconnect Forum').click();
  await confirmed(person);
  t.equal(await person.said('alert'), 'You cannot disconnect this account, because it is your only way to sign in.');
  await page.keyboard.press('Escape');
  t.equal(await focused(person), 'connected-0-act');
  person.complaints();

  newcomer();
  await button(person, 'Connect Work ID').click();
  await says(person, 'The account is connected.');
  t.equal(await connected(person).count(), 2);
  await button(person, 'Disconnect Forum').click();
  await confirmed(person);
  await says(person, 'The account is disconnected.');
  t.equal(await connected(person).count(), 1);
  await button(person, 'Disconnect Work ID').waitFor();
  t.strictSame(person.complaints(), []);
});

t.test('users without a password can set one, and then sign in with it', async (t) => {
  const email = newcomer();
  const password = 'a first password of a user';
  const person = await someone({ ...phone, bypassCSP: true });
  const { page } = person;
  await person.open('/account/login');
  await link(person, 'Continue with Forum').click();
  await waitForOwnAccount(person);
  await openSection(person, 'security');
  t.match(await page.locator('[data-card=signing-in]').innerText(), /Password\s+Not set/);
  t.equal(await button(person, 'Change Password').count(), 0);
  t.strictSame(await accessibilityViolations(person), []);
  await button(person, 'Set up Password').click();
  const dialog = page.getByRole('dialog', { name: 'Set a password' });
  await dialog.getByLabel('New password').fill(password);
  await dialog.getByRole('button', { name: 'Set a password' }).click();
  t.equal(await person.said('status'), 'Password set. You are signed out on all other devices.');
  t.equal(await focused(person), 'password-edit');
  t.match(await page.locator('[data-card=signing-in]').innerText(), /Password\s+Set\s/);
  await button(person, 'Change Password').click();
  await page.getByRole('dialog', { name: 'Change password' }).waitFor();
  t.strictSame(person.complaints(), []);
  await signedIn({ email, password });

  newcomer();
  const other = await someone();
  await other.open('/account/login?redirect=/account/security?change%3Dpassword');
  await link(other, 'Continue with Forum').click();
  await other.page.getByRole('dialog', { name: 'Set a password' }).waitFor();
});

t.test('the account page offers a managed user nothing that the provider rules out', async (t) => {
  const email = newcomer();
  const call = await asAdministrator(service);
  await call('POST', '/users', { email, provider: 'work', external_identifier: String(people) });
  const person = await someone(phone);
  await person.open('/account/login');
  await link(person, 'Continue with Work ID').click();
  await waitForOwnAccount(person);
  for (const view of ['connections', 'security']) {
    await person.open(`/account/${view}`);
    await waitForOwnAccount(person);
    const note = person.page.locator(`[data-panel=${view}] [data-managed]`);
    await note.waitFor();
    t.match(await note.textContent(), 'You sign in only with Work ID, which manages your account.');
    t.equal(await isTooWide(person), false, view);
    t.strictSame(await accessibilityViolations(person), [], view);
    await saveScreenshot(person, `managed-${view}`);
    for (const name of [/^Connect/, /^Disconnect/, /^Add a passkey/, /^Change Password/, /^Set up Password/]) {
      t.equal(await person.page.getByRole('button', { name }).filter({ visible: true }).count(), 0, `${view}: ${name}`);
    }
  }
  t.strictSame(person.complaints(), []);
});

t.test('the account page explains why linking failed', async (t) => {
  const email = newcomer();
  const first = await someone();
  await first.open('/account/login');
  await link(first, 'Continue with Forum').click();
  await waitForOwnAccount(first);
  t.equal(await ownEmail(first), email);

  const person = await signedIn(await createUserOverHttp(service));
  await person.open('/account/connections?lang=de');
  await button(person, 'Verknüpfen Forum').click();
  t.match(await person.said('alert'), 'gehört hier schon zu einem anderen Benutzer');
  t.equal(person.page.url(), `${publicUrl}/account/connections?lang=de`);
  await person.page.reload();
  await waitForOwnAccount(person);
  t.equal(await person.page.locator('[data-alert]:not(:empty)').count(), 0, 'shown once');

  await person.open('/account/connections?lang=en-US');
  await waitForOwnAccount(person);
  newcomer();
  for (const [answer, words] of [
    [status(503), 'The service is not available at the moment.'],
    [json({ error: 'invalid_client' }, 401), 'The connection to this provider is not set up correctly.'],
  ] as const) {
    provider.answers['/token'] = answer;
    await button(person, 'Connect Forum').click();
    await says(person, words);
  }
  provider.answers = {};
  for (const [reason, words] of [
    ['INVALID_CREDENTIALS', 'The account was not connected. Try again.'],
    ['NONSENSE', 'That did not work.'],
  ] as const) {
    await person.open(`/account/connections?reason=${reason}`);
    t.match(await person.said('alert'), words);
  }
});

t.test('users whose session has ended are sent to sign in, not to the provider', async (t) => {
  const user = await createUserOverHttp(service);
  for (const end of ['gone', 'of no use'] as const) {
    const person = await signedIn(user);
    await openSection(person, 'connections');
    await button(person, 'Connect Forum').waitFor();
    await person.context.clearCookies();
    if (end === 'of no use') {
      await person.context.addCookies([{ name: 'gatehouse_session_token', value: 'nonsense', url: publicUrl }]);
    }
    await button(person, 'Connect Forum').click();
    await person.page.waitForURL(/\/account\/login\?redirect=/);
    t.pass(end);
  }
});

t.test('users who must set up two-factor authentication first see no accounts to link', async (t) => {
  const person = await signedIn(await createUserOverHttp(service, { enforceTfa: true }));
  await button(person, 'Set up Authenticator app').waitFor();
  t.equal(await person.page.locator('[data-entry=connections]').isVisible(), false);
});

t.test('without providers, the account page does not mention them', async (t) => {
  const plain = await startService(await createHome(t, { prepared: true }), variables);
  const person = await newPerson(browser, plain);
  await signIn(person, administrator.email, administrator.password);
  await waitForOwnAccount(person);
  t.equal(await person.page.locator('[data-entry=connections]').isVisible(), false);
  t.strictSame(person.complaints(), []);
});

for (const colorScheme of ['light', 'dark'] as const) {
  const options = { colorScheme, bypassCSP: true, ...phone };
  const check = async (t: Test, person: Person, state: string) => {
    t.strictSame(await accessibilityViolations(person), [], `${state}, ${colorScheme}`);
    t.equal(await isTooWide(person), false, `${state}, ${colorScheme}`);
    await saveScreenshot(person, `${state}-${colorScheme}`);
  };

  t.test(`linked accounts are accessible and fit a phone screen, ${colorScheme}`, async (t) => {
    const user = await createUserOverHttp(service, { canChange: ['first_name', 'password'] });
    provider.profile = { id: `somebody-with-an-identifier-that-is-long-${'x'.repeat(60)}-${++people}` };
    const person = await signedIn(user, options);
    await openSection(person, 'connections');
    await check(t, person, 'none');
    await button(person, 'Connect Forum').click();
    await says(person, 'The account is connected.');
    await check(t, person, 'linked');
    for (const lang of languages) {
      await person.open(`/account/connections?lang=${lang}`);
      await waitForOwnAccount(person);
      await section(person).locator('#connected-0-act').click();
      t.equal(await isTooWide(person), false, lang);
      await saveScreenshot(person, `asked-${lang}-${colorScheme}`);
    }
    await check(t, person, 'asked');
    await person.open('/account/connections?reason=INVALID_PROVIDER');
    await person.said('alert');
    await check(t, person, 'refused');
  });

  t.test(`the form for the code is accessible and fits a phone screen, ${colorScheme}`, async (t) => {
    await createProtected();
    const person = await someone(options);
    await person.open('/account/login');
    await link(person, 'Continue with Forum').click();
    for (const lang of languages) {
      await person.page.locator(`.languages a[lang=${lang}]`).click();
      await person.page.waitForURL(new RegExp(`lang=${lang}`));
      await person.page.locator('#provider-code [type=submit]').click();
      await person.said('fault');
      t.equal(await isTooWide(person), false, lang);
      await saveScreenshot(person, `code-${lang}-${colorScheme}`);
    }
    await check(t, person, 'code');
  });
}
