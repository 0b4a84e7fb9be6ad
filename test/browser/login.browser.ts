import t from 'tap';
import {
  cookiesOf,
  focused,
  newPerson,
  ownEmail,
  signIn,
  startBrowser,
  waitForOwnAccount,
} from '../helpers/browser/browser.js';
import { day } from '../helpers/service/clock.js';
import { startClockedService } from '../helpers/service/clocked-service.js';
import { createHome, startService } from '../helpers/service/service.js';
import { administrator } from '../helpers/users/credentials.js';
import { asAdministrator, createUserOverHttp, variables } from '../helpers/users/over-http.js';

const service = await startService(await createHome(t, { prepared: true }), variables);
const browser = await startBrowser(t);
const someone = () => newPerson(browser, service);
const { email, password } = administrator;

t.test('users can sign in and out', async (t) => {
  const person = await someone();
  await signIn(person, email, password);
  await waitForOwnAccount(person);
  t.equal(await ownEmail(person), email);
  const [cookie, ...others] = await cookiesOf(person);
  t.strictSame(others, []);
  t.match(cookie, { name: 'gatehouse_session_token', httpOnly: true, sameSite: 'Lax' });
  const stored = 'document.cookie + sessionStorage.length + JSON.stringify(Object.entries(localStorage))';
  t.equal(await person.page.evaluate(stored), '0[["/account/last-way","password"]]', 'no token and no address');

  await person.open('/account/login');
  await waitForOwnAccount(person);
  t.pass('signed-in users do not have to sign in again');

  await person.page.getByRole('button', { name: 'Sign out' }).click();
  t.equal(await person.said('status'), 'You are signed out.');
  t.strictSame(await cookiesOf(person), []);
  await person.open('/account');
  t.match(person.page.url(), /\/account\/login$/);
  t.strictSame(person.complaints(), []);
});

t.test('after a wrong password, users can enter the right one', async (t) => {
  const person = await someone();
  await signIn(person, email, 'not the password');
  t.match(await person.said('alert'), 'The email address or password is incorrect.');
  t.equal(await focused(person), 'password');
  t.match(person.complaints(), [/401/]);
  await person.page.keyboard.type(password);
  await person.page.keyboard.press('Enter');
  await waitForOwnAccount(person);
  t.strictSame(person.complaints(), []);
});

t.test('after a failed sign-in, everyone is offered the same one step', async (t) => {
  const said: unknown[] = [];
  for (const address of [email, 'nobody@example.com']) {
    const person = await someone();
    const { page } = person;
    const sent: unknown[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') sent.push([new URL(request.url()).pathname, request.postDataJSON().email]);
    });
    await signIn(person, address, 'not the password');
    t.match(await person.said('alert'), 'incorrect');
    t.equal(await page.locator('[data-part=form] a:visible, [data-part=form] button.switch:visible').count(), 1);
    await page.getByRole('button', { name: 'Email me a link to choose a new password' }).click();
    said.push((await person.said('status')).replace(address, ''));
    t.strictSame(sent.slice(1), [['/auth/password/request', address]]);
    t.equal(await page.locator('[data-alert]:not(:empty)').count(), 0);
  }
  t.strictSame(said[0], said[1]);
});

t.test('the page marks the way in which someone last signed in with this browser', async (t) => {
  const call = await asAdministrator(service);
  await call('PATCH', '/settings', { email_login: true });
  const person = await someone();
  const { page } = person;
  await person.open('/account/login');
  t.equal(await page.getByText('Last used').count(), 0);
  await signIn(person, email, 'not the password');
  await person.said('alert');
  await person.open('/account/login');
  t.equal(await page.getByText('Last used').count(), 0, 'only a login that succeeds counts');
  await signIn(person, email, password);
  await waitForOwnAccount(person);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('Last used').waitFor();
  const submit = page.getByRole('button', { name: 'Sign in', exact: true });
  t.equal(await submit.getAttribute('aria-describedby'), 'last-way', 'screen readers announce it, too');
  await page.evaluate('localStorage.setItem("/account/last-way", "email")');
  await page.reload();
  await page.locator('[data-way=email]', { hasText: 'Last used' }).waitFor();
  await page.evaluate('localStorage.setItem("/account/last-way", "provider:gone")');
  await page.reload();
  t.equal(await page.getByText('Last used').count(), 0);
  await call('PATCH', '/settings', { email_login: false });
  await page.evaluate('localStorage.setItem("/account/last-way", "password")');
  await page.reload();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
});

t.test('missing or malformed input is reported at its field, and nothing is sent', async (t) => {
  const person = await someone();
  await person.open('/account/login');
  const sent: string[] = [];
  person.page.on('request', (request) => sent.push(request.url()));
  const submit = () => person.page.getByRole('button', { name: 'Sign in' }).click();
  await submit();
  t.equal(await person.said('fault'), 'Enter your email address.');
  t.equal(await focused(person), 'email');
  await person.page.getByLabel('Email address').fill('ada');
  await submit();
  t.match(await person.said('fault'), 'such as name@example.com');
  await person.page.getByLabel('Email address').fill(email);
  await submit();
  t.equal(await person.said('fault'), 'Enter a password.');
  t.equal(await focused(person), 'password');
  t.equal(await person.page.getByLabel('Password', { exact: true }).getAttribute('aria-invalid'), 'true');
  await person.page.evaluate("document.getElementById('password').name = 'without_own_text'");
  await submit();
  t.equal(await person.said('fault'), 'Fill in this field.');
  t.strictSame(sent, []);
});

t.test('a login redirects to the requested page, but only to an account page', async (t) => {
  for (const [redirect, end] of [
    ['/account/register?x=1', '/account/register?x=1'],
    ['/server/ping', '/account'],
    ['/account/../auth/login/forum', '/account'],
    ['//evil.example/', '/account'],
    ['/\\evil.example/', '/account'],
    ['javascript:document.title=1', '/account'],
  ] as const) {
    const person = await someone();
    await signIn(person, email, password, `/account/login?${new URLSearchParams({ redirect })}`);
    await person.page.waitForURL(`${service.url}${end}`);
    t.pass(redirect);
  }
});

t.test('an unusable session cookie does not prevent a login', async (t) => {
  const user = await createUserOverHttp(service);
  const person = await someone();
  await signIn(person, user.email, user.password);
  await waitForOwnAccount(person);
  const cookies = await cookiesOf(person);
  await person.page.getByRole('button', { name: 'Sign out' }).click();
  await person.said('status');
  for (const value of [cookies[0]?.value ?? '', 'nonsense', 'a.b.c']) {
    await person.context.addCookies([{ name: 'gatehouse_session_token', value, url: service.url }]);
    await signIn(person, user.email, user.password);
    await waitForOwnAccount(person);
    t.pass(value.slice(0, 10));
    await person.context.clearCookies();
  }
  await person.context.addCookies([{ name: 'gatehouse_session_token', value: 'nonsense', url: service.url }]);
  await person.open('/account');
  await person.page.waitForURL(/\/account\/login\?redirect=/);
});

t.test('an expired session cookie, which the API does not clear, does not prevent a login', async (t) => {
  const short = await startClockedService(t);
  const person = await newPerson(browser, short);
  await signIn(person, email, password);
  await waitForOwnAccount(person);
  const [cookie] = await cookiesOf(person);
  short.clock.advance(2 * day);
  await person.context.addCookies([{ name: 'gatehouse_session_token', value: cookie?.value ?? '', url: short.url }]);
  await signIn(person, email, password);
  await waitForOwnAccount(person);
  t.not((await cookiesOf(person))[0]?.value, cookie?.value);
});

t.test('the page uses the language of the browser, or the one that the user chooses', async (t) => {
  const person = await newPerson(browser, service, { locale: 'fr-FR' });
  await person.open('/account/login?redirect=/account/register');
  t.equal(await person.page.locator('h1').textContent(), 'Connexion');
  await person.page.getByRole('link', { name: 'Deutsch' }).click();
  await person.page.waitForURL(/lang=de-DE/);
  t.equal(await person.page.locator('h1').textContent(), 'Anmelden');
  await person.page.getByLabel('E-Mail-Adresse').fill(email);
  await person.page.getByLabel('Passwort', { exact: true }).fill('falsch');
  await person.page.getByRole('button', { name: 'Anmelden' }).click();
  t.match(await person.said('alert'), 'Die E-Mail-Adresse oder das Passwort ist falsch.');
  await person.page.getByLabel('Passwort', { exact: true }).fill(password);
  await person.page.keyboard.press('Enter');
  await person.page.waitForURL(/\/account\/register$/);
  await person.open('/account/forgot-password');
  t.equal(await person.page.locator('html').getAttribute('lang'), 'de-DE', 'the choice is remembered');
});

t.test('the page asks for a code when the API requires one', async (t) => {
  const person = await someone();
  const { page } = person;
  const code = page.getByLabel('Code from your authenticator app');
  const errors = [{ message: 'x', extensions: { code: 'INVALID_OTP' } }];
  const sent: Record<string, unknown>[] = [];
  await page.route('**/auth/login', (route) => {
    sent.push(route.request().postDataJSON());
    return route.fulfill({ status: 401, json: { errors } });
  });
  await person.open('/account/login');
  t.equal(await code.isVisible(), false);
  await signIn(person, email, password);
  await code.waitFor();
  t.equal(await focused(person), 'otp');
  t.equal(await page.getByLabel('Password', { exact: true }).isVisible(), false);
  await page.keyboard.press('Enter');
  t.match(await person.said('fault'), 'Enter the code');
  await code.fill('123 456');
  await page.getByText('The code is incorrect').waitFor();
  t.equal(await focused(person), 'otp');
  const body = { email, password, mode: 'session' };
  t.strictSame(sent, [body, { ...body, otp: '123456' }]);

  await page.getByRole('button', { name: 'Sign in to another account' }).click();
  t.equal(await code.isVisible(), false);
  await page.unroute('**/auth/login');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await waitForOwnAccount(person);
});

t.test('the page explains why the service is unavailable or rejects more attempts', async (t) => {
  const person = await someone();
  await person.page.route('**/auth/login', (route) => route.abort());
  await signIn(person, email, password);
  t.match(await person.said('alert'), 'Check your connection and try again.');
  for (const [status, code, headers, words] of [
    [429, 'REQUESTS_EXCEEDED', { 'retry-after': '30' }, 'Too many attempts. Try again in 30 seconds.'],
    [429, 'REQUESTS_EXCEEDED', { 'retry-after': '200' }, 'Too many attempts. Try again in 4 minutes.'],
    [503, 'SERVICE_UNAVAILABLE', {}, 'Try again in a minute.'],
    [500, 'INTERNAL_SERVER_ERROR', {}, 'contact an administrator'],
  ] as const) {
    await person.page.unroute('**/auth/login');
    const errors = [{ message: 'x', extensions: { code } }];
    await person.page.route('**/auth/login', (route) => route.fulfill({ status, headers, json: { errors } }));
    await signIn(person, email, password);
    t.match(await person.said('alert'), words);
  }
  await person.page.unroute('**/auth/login');
  await person.page.route('**/auth/login', (route) => route.fulfill({ status: 502, body: '<h1>Bad gateway</h1>' }));
  await signIn(person, email, password);
  t.match(await person.said('alert'), 'Try again in a minute.', 'an error from a proxy');
});
