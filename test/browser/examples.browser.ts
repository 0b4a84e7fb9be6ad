// @suite not-everyday: installs and builds applications

/**
 * The applications in `examples/react` and `examples/nextjs`, which the guide "Your own sign-in pages" explains. Each is
 * installed in a new folder, and run with the commands and variables in the guide.
 */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import {
  accessibilityViolations,
  addAuthenticator,
  cookiesOf,
  newPerson,
  type Person,
  saveScreenshot,
  startBrowser,
} from '../helpers/browser/browser.js';
import { cannotInstall, exampleEnvironment, installExample, runNpm } from '../helpers/browser/examples.js';
import {
  alertOf,
  cookieHeader,
  follow,
  linksTo,
  mailboxKey,
  press,
  sees,
  signIn,
} from '../helpers/browser/own-pages.js';
import { atEndOf } from '../helpers/runner/teardown.js';
import { freePort } from '../helpers/servers/ports.js';
import { createHome, logLines, type Service, startService } from '../helpers/service/service.js';
import { asAdministrator, createUserOverHttp, variables } from '../helpers/users/over-http.js';
import { currentCode, previousCode } from '../helpers/users/totp.js';

const password = 'a good long password';

/** Runs a script of an example until the test ends. */
async function start(t: Test, folder: string, url: string, args: string[], own: Record<string, string>): Promise<void> {
  // In a process group of its own, because npm does not end the processes that it starts.
  const child = spawn('npm', args, {
    cwd: folder,
    env: { ...exampleEnvironment, ...own },
    stdio: 'pipe',
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const stop = () => {
    if (child.pid && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
  };
  process.once('exit', stop);
  atEndOf(t, () => {
    process.removeListener('exit', stop);
    stop();
    return ended;
  });
  for (const timeout = AbortSignal.timeout(60_000); !(await fetch(url).catch(() => undefined))?.ok; await sleep(100))
    if (timeout.aborted || child.exitCode !== null) throw new Error(`${url} does not respond: ${output}`);
}

interface Example {
  url: string;
  service: Service;
  call: Awaited<ReturnType<typeof asAdministrator>>;
  /** The path of the page on which users sign in. */
  entrance: string;
}

/** Starts Gatehouse with the variables in the guide. */
async function startGatehouse(t: Test, entrance: string, own: Record<string, string> = {}): Promise<Example> {
  const url = `http://localhost:${await freePort()}`;
  const port = String(await freePort());
  const service = await startService(await createHome(t, { prepared: true }), {
    ...variables,
    PORT: port,
    WEBAUTHN_ORIGINS: url,
    USER_REGISTER_URL_ALLOW_LIST: `${url}/verify-email`,
    PASSWORD_RESET_URL_ALLOW_LIST: `${url}/reset-password`,
    USER_INVITE_URL_ALLOW_LIST: `${url}/accept-invitation`,
    MAILBOX_KEY: mailboxKey,
    ...own,
  });
  const call = await asAdministrator(service);
  await call('PATCH', '/settings', { public_registration: true });
  return { url, service, call, entrance };
}

const browser = await startBrowser(t);
const someone = ({ url }: Example, options: Parameters<typeof newPerson>[2] = {}) =>
  newPerson(browser, { url }, options);

const stored = 'JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }])';

const isAtEntrance = async (person: Person, { url, entrance }: Example): Promise<void> => {
  await person.page.waitForURL(`${url}${entrance}`);
  await sees(person, 'Sign in');
};

const isSignedIn = ({ page }: Person, email: string): Promise<void> =>
  page.getByText(`You are signed in as ${email}.`).waitFor();

/** What both applications show. */
async function testPages(t: Test, example: Example): Promise<void> {
  const { url, service, call, entrance } = example;

  t.test('a user signs in, stays signed in after a reload, and signs out', async (t) => {
    const user = await createUserOverHttp(service);
    const person = await someone(example);
    await person.open('/');
    await isAtEntrance(person, example);
    await signIn(person, user.email, 'not the password', entrance);
    t.equal(await alertOf(person), 'The email address or password is incorrect.');
    await signIn(person, user.email, user.password, entrance);
    await isSignedIn(person, user.email);
    for (let reloads = 0; reloads < 2; reloads++) {
      await person.page.reload();
      await isSignedIn(person, user.email);
    }
    t.equal(await person.page.evaluate(stored), '["",{},{}]', 'scripts can read no token');
    t.strictSame(
      (await cookiesOf(person)).map(({ httpOnly, sameSite }) => ({ httpOnly, sameSite })),
      [{ httpOnly: true, sameSite: 'Lax' }],
    );
    const before = await cookieHeader(person);
    await press(person, 'Sign out');
    await isAtEntrance(person, example);
    t.strictSame(await cookiesOf(person), []);
    const { status } = await service.post('/auth/refresh', { mode: 'session' }, { cookie: before });
    t.ok([400, 401].includes(status), 'the session has ended');
    await person.open('/');
    await isAtEntrance(person, example);
  });

  t.test('a user adds a passkey, and signs in with it', async (t) => {
    const user = await createUserOverHttp(service);
    const person = await someone(example);
    await addAuthenticator(person);
    await signIn(person, user.email, user.password, entrance);
    await person.page.getByText('With a passkey, you can sign in without a password.').waitFor();
    await press(person, 'Add a passkey');
    await person.page.getByRole('listitem').waitFor();
    await saveScreenshot(person, 'home');
    await press(person, 'Add a passkey');
    t.equal(await alertOf(person), 'This device already has a passkey for your account.');
    await press(person, 'Sign out');
    await isAtEntrance(person, example);
    await press(person, 'Sign in with a passkey');
    await isSignedIn(person, user.email);
    await person.page.reload();
    await person.page.getByRole('listitem').waitFor();

    // Removing a passkey ends the other sessions of the user.
    const headers = await authorization(user);
    const list = await service.get('/users/me/passkeys', headers);
    const { data } = (await list.json()) as { data: { id: string }[] };
    await fetch(`${service.url}/users/me/passkeys/${data[0]?.id}`, { method: 'DELETE', headers });
    await person.open('/');
    await isAtEntrance(person, example);
    await press(person, 'Sign in with a passkey');
    t.equal(await alertOf(person), 'This passkey is not accepted here.');
  });

  async function authorization(user: { email: string; password: string }) {
    const login = await service.post('/auth/login', user);
    const { data } = (await login.json()) as { data: { access_token: string } };
    return { authorization: `Bearer ${data.access_token}` };
  }

  t.test('a login with two-factor authentication asks for the code', async (t) => {
    const user = await createUserOverHttp(service);
    const headers = await authorization(user);
    const generated = await service.post('/users/me/tfa/generate', { password: user.password }, headers);
    const { secret } = (await generated.json()) as { secret: string };
    await service.post('/users/me/tfa/enable', { secret, otp: await previousCode(secret) }, headers);

    const person = await someone(example);
    await signIn(person, user.email, user.password, entrance);
    const code = person.page.getByLabel('Code');
    await code.fill('000000');
    await press(person, 'Sign in');
    t.equal(await alertOf(person), 'The code is incorrect. Enter the current code.');
    await press(person, 'Sign in to another account');
    await signIn(person, user.email, user.password, entrance);
    await code.fill(currentCode(secret).replace(/(?=...$)/, ' '));
    await press(person, 'Sign in');
    await isSignedIn(person, user.email);
  });

  t.test('an invited user chooses a password, and signs in', async (t) => {
    const email = 'invited@example.com';
    const role = await call('POST', '/roles', { name: 'Member' });
    await call('POST', '/users/invite', { email, role: role.id, invite_url: `${url}/accept-invitation` });
    const [link = ''] = await linksTo(service, email);
    t.ok(link.startsWith(`${url}/accept-invitation?token=`), 'the link leads to the page of the example');
    const person = await someone(example);
    await person.open(link);
    await person.page.getByLabel('Password').fill('password1234');
    await press(person, 'Accept');
    t.equal(await alertOf(person), 'This password is easy to guess. Choose a less common one.');
    await person.page.getByLabel('Password').fill(password);
    await press(person, 'Accept');
    await sees(person, 'Your account is ready');
    await follow(person, 'Sign in');
    await isAtEntrance(person, example);
    await signIn(person, email, password, entrance);
    await isSignedIn(person, email);

    await person.open(link);
    await person.page.getByLabel('Password').fill(password);
    await press(person, 'Accept');
    await sees(person, 'This invitation cannot be used');
  });

  async function register(visitor: Person, email: string): Promise<string> {
    await visitor.open(entrance);
    await follow(visitor, 'Create an account');
    await visitor.page.getByLabel('First name').fill('Ada');
    await visitor.page.getByLabel('Email address').fill(email);
    for (const word of ['password1234', password]) {
      await visitor.page.getByLabel('Password').fill(word);
      await press(visitor, 'Create account');
      if (word !== password) t.match(await alertOf(visitor), 'easy to guess');
    }
    await sees(visitor, 'Check your email');
    await linksTo(service, email);
    await press(visitor, 'Send again');
    await visitor.page.getByText('We have sent the email again.').waitFor();
    const [link = ''] = await linksTo(service, email, 2);
    return link;
  }

  t.test('a visitor registers, verifies the address, and signs in', async () => {
    const visitor = await someone(example);
    const link = await register(visitor, 'register@example.com');
    await visitor.open(link);
    await press(visitor, 'Confirm');
    await sees(visitor, 'Your address is confirmed');
    await follow(visitor, 'Sign in');
    await isAtEntrance(visitor, example);
    await signIn(visitor, 'register@example.com', password, entrance);
    await sees(visitor, 'Hello, Ada!');
    await visitor.open(link);
    await press(visitor, 'Confirm');
    await visitor.page.getByLabel('Password').fill(password);
    await press(visitor, 'Confirm');
    await sees(visitor, 'This link cannot be used');
  });

  t.test('in another browser, the verification requires a password', async () => {
    const email = 'other-browser@example.com';
    const link = await register(await someone(example), email);
    const owner = await someone(example);
    await owner.open(link);
    await press(owner, 'Confirm');
    await owner.page.getByText('You are using a different browser.').waitFor();
    await owner.page.getByLabel('Password').fill('the password of the owner');
    await press(owner, 'Confirm');
    await sees(owner, 'Your address is confirmed');
    await signIn(owner, email, 'the password of the owner', entrance);
    await isSignedIn(owner, email);
  });

  t.test('a user resets a forgotten password', async (t) => {
    const { email } = await createUserOverHttp(service);
    const person = await someone(example);
    await person.open(entrance);
    await follow(person, 'Forgot your password?');
    await sees(person, 'Reset your password');
    await person.page.getByLabel('Email address').fill(email);
    await press(person, 'Send a link');
    await sees(person, 'Check your email');
    const [link = ''] = await linksTo(service, email);
    await person.open(link);
    await person.page.getByLabel('New password').fill('password1234');
    await press(person, 'Save password');
    t.match(await alertOf(person), 'easy to guess');
    await person.page.getByLabel('New password').fill(password);
    await press(person, 'Save password');
    await sees(person, 'Your new password is saved');
    await signIn(person, email, password, entrance);
    await isSignedIn(person, email);
    await person.open(link);
    await person.page.getByLabel('New password').fill(password);
    await press(person, 'Save password');
    await sees(person, 'This link cannot be used');
  });

  t.test('axe finds no accessibility issue, the console is empty, and every page fits a phone', async (t) => {
    const { email, password } = await createUserOverHttp(service);
    for (const colorScheme of ['light', 'dark'] as const) {
      const person = await someone(example, { colorScheme, bypassCSP: true, viewport: { width: 320, height: 600 } });
      const pages = [entrance, '/register', '/forgot-password', '/verify-email?token=x', '/reset-password?token=x'];
      const check = async (page: string) => {
        t.strictSame(await accessibilityViolations(person), [], `${page} ${colorScheme}`);
        t.equal(await person.page.evaluate('document.documentElement.scrollWidth'), 320, page);
      };
      for (const page of [...pages, '/accept-invitation?token=x']) {
        await person.open(page);
        await person.page.getByRole('heading').waitFor();
        await check(page);
      }
      await signIn(person, email, password, entrance);
      await isSignedIn(person, email);
      person.complaints();
      await person.page.reload();
      await person.page.getByText('With a passkey').waitFor();
      await check('/');
      t.strictSame(person.complaints(), []);
    }
  });
}

t.test('React', { skip: cannotInstall }, async (t) => {
  const folder = installExample(t, 'react');
  runNpm(t, folder, ['run', 'build']);
  const example = await startGatehouse(t, '/');
  const { url, service } = example;
  const { port } = new URL(url);
  await start(t, folder, url, ['run', 'dev', '--', '--port', port, '--strictPort'], { GATEHOUSE_URL: service.url });
  await testPages(t, example);

  t.test('the access token is only in memory, and the refresh cookie gets a new one', async (t) => {
    const user = await createUserOverHttp(service);
    const person = await someone(example);
    await person.page.clock.install();
    await signIn(person, user.email, user.password, '/');
    await isSignedIn(person, user.email);
    const cookie = async () => (await cookiesOf(person)).find(({ name }) => name === 'gatehouse_refresh_token')?.value;
    const first = await cookie();
    const refreshed = () => person.page.waitForResponse('**/auth/refresh');
    const [afterReload] = await Promise.all([refreshed(), person.page.reload()]);
    t.equal(afterReload.status(), 200);
    const second = await cookie();
    t.not(second, first);
    await isSignedIn(person, user.email);

    await addAuthenticator(person);
    await person.page.clock.fastForward('14:31');
    const [beforeExpiry] = await Promise.all([refreshed(), press(person, 'Add a passkey')]);
    t.equal(beforeExpiry.status(), 200, 'a token that is about to expire is not used');
    await person.page.getByRole('listitem').waitFor();
    t.not(await cookie(), second);

    await service.post('/auth/logout', { mode: 'cookie' }, { cookie: await cookieHeader(person) });
    await press(person, 'Add a passkey');
    t.match(await alertOf(person), 'You are no longer signed in.');
    await person.page.reload();
    await isAtEntrance(person, example);
  });

  t.test('users are also signed in on the account pages', async () => {
    const user = await createUserOverHttp(service);
    const person = await someone(example);
    await signIn(person, user.email, user.password, '/');
    await follow(person, 'Manage your account');
    await person.page.locator('[data-email-value]', { hasText: user.email }).first().waitFor({ state: 'attached' });
  });

  t.test('if Gatehouse is unavailable, the page asks the user to try again', async (t) => {
    const person = await someone(example);
    await person.page.route('**/auth/refresh', (route) => route.abort());
    await person.open('/');
    t.equal(await alertOf(person), 'There is no connection. Check your network, and try again.');
    await person.page.unroute('**/auth/refresh');
    await press(person, 'Try again');
    await isAtEntrance(person, example);
  });
});

t.test('Next.js', { skip: cannotInstall }, async (t) => {
  const folder = installExample(t, 'nextjs');
  const configuration = readFileSync(join(folder, 'tsconfig.json'), 'utf8');
  runNpm(t, folder, ['run', 'build']);
  t.equal(readFileSync(join(folder, 'tsconfig.json'), 'utf8'), configuration, 'Next.js changes no file');
  const example = await startGatehouse(t, '/sign-in', { TRUST_PROXY: '127.0.0.1' });
  const { url, service } = example;
  const variablesOf = (origin: string) => ({
    PORT: new URL(origin).port,
    PUBLIC_ORIGIN: origin,
    GATEHOUSE_URL: service.url,
  });
  await start(t, folder, url, ['start'], variablesOf(url));
  await testPages(t, example);

  /** The address in the log entry of the last request with this path. */
  const loggedAddress = (path: string) =>
    logLines(service.stdout)
      .filter((entry) => entry.path === path)
      .at(-1)?.ip;

  const forged = '203.0.113.9';
  const real = '198.51.100.7';
  const from = (addresses: string) => ({ extraHTTPHeaders: { 'x-forwarded-for': addresses } });

  t.test('a client cannot choose the address that Gatehouse limits and logs', async (t) => {
    const user = await createUserOverHttp(service);
    const person = await someone(example, from(forged));
    await signIn(person, user.email, user.password);
    await isSignedIn(person, user.email);
    t.equal(loggedAddress('/auth/login'), '127.0.0.1', 'without a proxy, it is the address of Next.js');
    t.notMatch(service.stdout, forged);
  });

  t.test('behind a proxy, Gatehouse gets the address that the proxy appended, also when it refreshes', async (t) => {
    // After an hour, as far as Next.js can see.
    const clock = join(folder, 'clock.cjs');
    writeFileSync(clock, 'const { now } = Date;\nDate.now = () => now() + 3_700_000;\n');
    const other = { ...example, url: `http://localhost:${await freePort()}` };
    const own = { ...variablesOf(other.url), TRUSTED_PROXIES: '1', NODE_OPTIONS: `--require ${clock}` };
    await start(t, folder, other.url, ['start'], own);
    const user = await createUserOverHttp(service);
    const person = await someone(other, from(`${forged}, ${real}`));
    await signIn(person, user.email, user.password);
    await isSignedIn(person, user.email);
    t.equal(loggedAddress('/auth/login'), real);
    const cookie = async () => (await cookiesOf(person)).find(({ name }) => name.includes('session_token'))?.value;
    const first = await cookie();
    await person.page.reload();
    await isSignedIn(person, user.email);
    t.not(await cookie(), first, 'the session was refreshed');
    t.equal(loggedAddress('/auth/refresh'), real);
    t.notMatch(service.stdout, forged);
  });

  t.test('the development server shows the same pages', async () => {
    const dev = { ...example, url: `http://localhost:${await freePort()}` };
    await start(t, folder, dev.url, ['run', 'dev'], variablesOf(dev.url));
    const user = await createUserOverHttp(service);
    const person = await someone(dev);
    await signIn(person, user.email, user.password);
    await isSignedIn(person, user.email);
  });
});
