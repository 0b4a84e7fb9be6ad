// @suite not-everyday: installs an application

/** The application in `examples/express`, which the guide "Your own sign-in pages" explains. It is installed in a new folder. */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import {
  accessibilityViolations,
  cookiesOf,
  focused,
  newPerson,
  ownEmail,
  type Person,
  startBrowser,
  visibleText,
  waitForOwnAccount,
} from '../helpers/browser/browser.js';
import { installExample, runNpm } from '../helpers/browser/examples.js';
import { alertOf, cookieHeader, linksTo, mailboxKey, press, sees, signIn } from '../helpers/browser/own-pages.js';
import { atEndOf } from '../helpers/runner/teardown.js';
import { freePort } from '../helpers/servers/ports.js';
import { createHome, startService } from '../helpers/service/service.js';
import { administrator } from '../helpers/users/credentials.js';
import { asAdministrator, createUserOverHttp, variables } from '../helpers/users/over-http.js';
import { currentCode, previousCode } from '../helpers/users/totp.js';

const password = 'a good long password';
const browser = await startBrowser(t);

/** Starts Gatehouse with the variables that the guide names, and the server of the example. */
async function startExample(t: Test, own: Record<string, string> = {}) {
  const url = `http://localhost:${await freePort()}`;
  const service = await startService(await createHome(t, { prepared: true }), {
    ...variables,
    PUBLIC_URL: url,
    TRUST_PROXY: '127.0.0.1',
    USER_REGISTER_URL_ALLOW_LIST: `${url}/verify-email`,
    PASSWORD_RESET_URL_ALLOW_LIST: `${url}/reset-password`,
    MAILBOX_KEY: mailboxKey,
    ...own,
  });
  await startServer(t, url, service.url);
  const call = await asAdministrator(service);
  await call('PATCH', '/settings', { public_registration: true });
  return { url, service, call };
}

async function startServer(t: Test, url: string, gatehouse: string): Promise<void> {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, ['server.js'], {
    cwd: folder,
    env: { PATH, HOME, PORT: new URL(url).port, GATEHOUSE_URL: gatehouse },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.on('close', resolve));
  atEndOf(t, () => {
    child.kill();
    return ended.then(() => {});
  });
  const [line] = await Promise.race([
    child.stdout.take(1).toArray(),
    ended.then(() => Promise.reject(new Error('The server did not start.'))),
  ]);
  t.equal(String(line).trim(), `Listening on ${url}`);
}

const folder = installExample(t, 'express');
runNpm(t, folder, ['run', 'check']);
const { url, service, call } = await startExample(t);
const someone = (options: Parameters<typeof newPerson>[2] = {}) => newPerson(browser, { url }, options);

const isGone = ({ page }: Person, text: string) => page.getByText(text).waitFor({ state: 'hidden' });

async function register(person: Person, email: string, word = password) {
  await person.open('/register');
  await person.page.getByLabel('First name').fill('Ada');
  await person.page.getByLabel('Email address').fill(email);
  await person.page.getByLabel('Password').fill(word);
  await press(person, 'Create account');
}

t.test('a visitor registers, gets the email again, verifies their address, and signs in and out', async (t) => {
  const email = 'register@example.com';
  const person = await someone();
  await register(person, email, 'password1234');
  t.equal(await alertOf(person), 'This password is easy to guess. Choose a less common one.');
  t.equal(await focused(person), 'password');
  await person.page.getByLabel('Password').fill(password);
  await press(person, 'Create account');
  await sees(person, 'Check your email');
  t.match(await visibleText(person), email);
  t.equal(await person.page.locator('[role=alert]').innerText(), '');
  await linksTo(service, email);
  await press(person, 'Send again');
  await person.page.getByText('We have sent the email again.').waitFor();
  const [link = ''] = await linksTo(service, email, 2);
  t.ok(link.startsWith(`${url}/verify-email?token=`), 'the link leads to the page of the example');

  await person.open(link);
  t.equal(person.page.url(), `${url}/verify-email`, 'the token is not in the address bar');
  await person.page.reload();
  await press(person, 'Confirm');
  await sees(person, 'Your address is confirmed');
  await person.page.getByRole('link', { name: 'Sign in' }).click();
  await person.page.waitForURL(`${url}/sign-in`);

  await signIn(person, email, password);
  await sees(person, 'Hello, Ada!');
  const stored = 'JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }])';
  t.equal(await person.page.evaluate(stored), '["",{},{}]', 'scripts have access to no token');
  await person.open('/account');
  await waitForOwnAccount(person);
  t.equal(await ownEmail(person), email, 'the built-in account page uses the same session');
  await person.open('/');
  await press(person, 'Sign out');
  await person.page.waitForURL(`${url}/sign-in`);
  t.strictSame(await cookiesOf(person), []);
  await person.open('/');
  await person.page.waitForURL(`${url}/sign-in?next=%2F`);
  await signIn(person, email, password);
  await sees(person, 'Hello, Ada!');
  await person.context.clearCookies();
  await press(person, 'Sign out');
  await person.page.waitForURL(`${url}/sign-in`);

  await person.open(link);
  await press(person, 'Confirm');
  await person.page.getByLabel('Password').fill(password);
  await press(person, 'Confirm');
  await sees(person, 'This link cannot be used');
});

t.test('in another browser, the verification requires a password', async (t) => {
  const email = 'other-browser@example.com';
  await register(await someone(), email);
  const [link = ''] = await linksTo(service, email);
  const owner = await someone();
  await owner.open(link);
  await press(owner, 'Confirm');
  await owner.page.getByText('You are using a different browser.').waitFor();
  t.equal(await focused(owner), 'password');
  await owner.page.getByLabel('Password').fill('password1234');
  await press(owner, 'Confirm');
  t.match(await alertOf(owner), 'easy to guess');
  await owner.page.getByLabel('Password').fill('the password of the owner');
  await press(owner, 'Confirm');
  await sees(owner, 'Your address is confirmed');
  await signIn(owner, email, password);
  t.equal(await alertOf(owner), 'The email address or password is incorrect.');
  await signIn(owner, email, 'the password of the owner');
  await sees(owner, /^Hello/);
});

t.test('a user resets a forgotten password', async (t) => {
  const { email, password: old } = await createUserOverHttp(service);
  const person = await someone();
  await person.open('/sign-in');
  await person.page.getByRole('link', { name: 'Forgot your password?' }).click();
  await person.page.getByLabel('Email address').fill(email);
  await press(person, 'Send a link');
  await sees(person, 'Check your email');
  const [link = ''] = await linksTo(service, email);
  t.ok(link.startsWith(`${url}/reset-password?token=`));
  await person.open(link);
  t.equal(person.page.url(), `${url}/reset-password`);
  await person.page.getByLabel('New password').fill('password1234');
  await press(person, 'Save password');
  t.match(await alertOf(person), 'easy to guess');
  t.equal(await focused(person), 'password');
  await person.page.getByLabel('New password').fill(password);
  await person.page.keyboard.press('Enter');
  await sees(person, 'Your new password is saved');
  await signIn(person, email, old);
  t.equal(await alertOf(person), 'The email address or password is incorrect.');
  t.equal(await focused(person), 'password');
  await signIn(person, email, password);
  await sees(person, `Hello, ${email}!`);

  await person.open(link);
  await person.page.getByLabel('New password').fill(password);
  await press(person, 'Save password');
  await sees(person, 'This link cannot be used');
  for (const path of ['/reset-password', '/verify-email', '/reset-password?token=x']) {
    const visitor = await someone();
    await visitor.open(path);
    if (path.includes('token')) {
      await visitor.page.getByLabel('New password').fill(password);
      await press(visitor, 'Save password');
    }
    await sees(visitor, 'This link cannot be used');
    t.equal(await visitor.page.locator('form:visible').count(), 0, path);
  }
});

t.test('a login with two-factor authentication asks for the code', async (t) => {
  const user = await createUserOverHttp(service);
  const login = await service.post('/auth/login', user);
  const { data } = (await login.json()) as { data: { access_token: string } };
  const headers = { authorization: `Bearer ${data.access_token}` };
  const generated = await service.post('/users/me/tfa/generate', { password: user.password }, headers);
  const { secret } = (await generated.json()) as { secret: string };
  await service.post('/users/me/tfa/enable', { secret, otp: await previousCode(secret) }, headers);

  const person = await someone();
  const { page } = person;
  await signIn(person, user.email, user.password);
  const code = page.getByLabel('Code');
  await code.waitFor();
  t.equal(await focused(person), 'otp');
  t.equal(await page.locator('[role=alert]').innerText(), '', 'the missing code is not an error');
  await page.keyboard.type('000000');
  await page.keyboard.press('Enter');
  t.equal(await alertOf(person), 'The code is incorrect. Enter the current code.');
  t.equal(await focused(person), 'otp');
  await press(person, 'Sign in to another account');
  t.equal(await page.getByLabel('Password').inputValue(), '');
  await signIn(person, user.email, user.password);
  await code.fill(currentCode(secret).replace(/(?=...$)/, ' '));
  await page.keyboard.press('Enter');
  await sees(person, /^Hello/);
});

t.test('after too many attempts, the page says when to try again', async (t) => {
  await call('PATCH', '/settings', { auth_login_attempts: 1 });
  t.teardown(() => call('PATCH', '/settings', { auth_login_attempts: 25 }));
  const { email } = await createUserOverHttp(service);
  const person = await someone();
  for (const _attempt of [1, 2]) await signIn(person, email, 'not the password').then(() => alertOf(person));
  t.match(await alertOf(person), /^Too many attempts. Try again in (2\d|30) seconds\.$/);
  await person.page.route('**/auth/login', (route) =>
    route.fulfill({ status: 429, headers: { 'retry-after': '61' }, body: 'from a proxy' }),
  );
  await signIn(person, email, 'not the password');
  t.equal(await alertOf(person), 'Something went wrong. Try again in a minute.');
});

t.test('an open page keeps the session alive, and notices when it ends', async (t) => {
  const { email, password } = await createUserOverHttp(service);
  const person = await someone();
  const cookie = async () => (await cookiesOf(person)).find(({ name }) => name.includes('session'));
  await person.page.clock.install();
  await signIn(person, email, password);
  await sees(person, /^Hello/);
  const refreshed = () => person.page.waitForResponse('**/auth/refresh');
  const first = await cookie();
  const refresh = refreshed();
  await person.page.clock.runFor('01:00:00');
  t.equal((await refresh).status(), 200);
  t.not((await cookie())?.value, first?.value);
  t.match(await cookie(), { httpOnly: true, sameSite: 'Lax' });

  const { data } = (await (
    await fetch(`${url}/api/greeting`, { headers: { cookie: await cookieHeader(person) } })
  ).json()) as {
    data: object;
  };
  t.strictSame(data, { greeting: `Hello, ${email}!`, email });
  const other = await fetch(`${url}/api/greeting`);
  t.equal(other.status, 401, 'the API of the application rejects visitors');

  await fetch(`${service.url}/auth/logout`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie: await cookieHeader(person) },
    body: '{"mode":"session"}',
  });
  await person.page.clock.runFor('01:00:00');
  await person.page.waitForURL(/\/sign-in/);
});

t.test('a login leads back to the page that required it, but never to another site', async (t) => {
  const { email, password } = await createUserOverHttp(service);
  for (const [next, end] of [
    ['/account', '/account'],
    ['//evil.example/', '/'],
    ['/\\evil.example/', '/'],
    ['javascript:document.title=1', '/'],
  ] as const) {
    const person = await someone();
    await signIn(person, email, password, `/sign-in?${new URLSearchParams({ next })}`);
    await person.page.waitForURL(`${url}${end}`);
    t.pass(next);
  }
});

t.test('only the paths that the pages need are forwarded', async (t) => {
  for (const path of ['/roles', '/policies', '/settings', '/authors', '/docs', '/mailbox', '/metrics'])
    t.equal((await fetch(`${url}${path}`)).status, 404, path);
  t.equal((await fetch(`${url}/users/me/profile`)).status, 401);
});

const pages = readdirSync(`${folder}/public`)
  .filter((name) => name.endsWith('.html'))
  .map((name) => `/${name.replace(/(index)?\.html$/, '')}`);

t.test('axe finds no accessibility issue, the console is empty, and every page fits a phone', async (t) => {
  for (const colorScheme of ['light', 'dark'] as const) {
    const person = await someone({ colorScheme, bypassCSP: true, viewport: { width: 320, height: 600 } });
    await signIn(person, administrator.email, administrator.password);
    await sees(person, /^Hello/);
    for (const path of ['/verify-email?token=x', '/reset-password?token=x', ...pages]) {
      await person.open(path);
      if (path === '/') await sees(person, /^Hello/);
      t.strictSame(await accessibilityViolations(person), [], `${path} ${colorScheme}`);
      t.equal(await person.page.evaluate('document.documentElement.scrollWidth'), 320, path);
    }
    t.strictSame(person.complaints(), []);
  }
});

t.test('the pages also work with Gatehouse on another origin', async (t) => {
  const origin = `http://localhost:${await freePort()}`;
  const own = { CORS_ENABLED: 'true', CORS_ORIGIN: origin };
  const lists = {
    USER_REGISTER_URL_ALLOW_LIST: `${origin}/verify-email`,
    PASSWORD_RESET_URL_ALLOW_LIST: `${origin}/reset-password`,
  };
  const port = String(await freePort());
  const target = `http://localhost:${port}`;
  const { service } = await startExample(t, { PORT: port, PUBLIC_URL: target, ...lists, ...own });
  await startServer(t, origin, target);
  const person = await newPerson(browser, { url: origin }, { bypassCSP: true });
  const source = readFileSync(`${folder}/public/gatehouse.js`, 'utf8');
  const changed = source.replace("const service = '';", `const service = '${target}';`);
  t.not(changed, source);
  await person.page.route('**/gatehouse.js', (route) =>
    route.fulfill({ contentType: 'text/javascript', body: changed }),
  );

  const email = 'cors@example.com';
  await register(person, email);
  await sees(person, 'Check your email');
  const [link = ''] = await linksTo(service, email);
  await person.open(link);
  await press(person, 'Confirm');
  await sees(person, 'Your address is confirmed');
  await signIn(person, email, password);
  await sees(person, /^Hello/);
  t.strictSame(person.complaints(), []);
  await press(person, 'Sign out');
  await person.page.waitForURL(`${origin}/sign-in`);
  t.strictSame(await cookiesOf(person), []);
});

t.test('if Gatehouse is unavailable, the pages ask the user to try again', async (t) => {
  const gone = `http://localhost:${await freePort()}`;
  await startServer(t, gone, 'http://127.0.0.1:9');
  const person = await newPerson(browser, { url: gone });
  await signIn(person, 'ada@example.com', password);
  t.equal(await alertOf(person), 'Something went wrong. Try again in a minute.');
  await isGone(person, 'Hello');
  await person.page.route('**/auth/login', (route) => route.abort());
  await signIn(person, 'ada@example.com', password);
  t.equal(await alertOf(person), 'There is no connection. Check your network, and try again.');
});
