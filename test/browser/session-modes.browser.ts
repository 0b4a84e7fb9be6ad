import { eq } from 'drizzle-orm';
import t from 'tap';
import { sessions } from '../../db/schema.js';
import {
  changeFirstName,
  newPerson,
  openDialog,
  ownEmail,
  type Person,
  signIn,
  startBrowser,
  waitForOwnAccount,
} from '../helpers/browser/browser.js';
import { linkTo } from '../helpers/mail/mails.js';
import { day, minute } from '../helpers/service/clock.js';
import { startClockedService } from '../helpers/service/clocked-service.js';
import { createUser } from '../helpers/users/users.js';

/** The account pages for users of an application in `cookie` mode, whose browsers have a refresh cookie instead of a session cookie. */

const service = await startClockedService(t);
const browser = await startBrowser(t);
const { app, clock } = service;

const sessionCookie = 'gatehouse_session_token';
const refreshCookie = 'gatehouse_refresh_token';

/** Logs in as an application on the same origin would. */
async function logIn({ context }: Person, { email, password }: { email: string; password: string }, mode: string) {
  const response = await context.request.post('/auth/login', { data: { email, password, mode } });
  t.equal(response.status(), 200);
}

const cookiesOf = async ({ context }: Person) =>
  (await context.cookies())
    .map(({ name }) => name)
    .filter((name) => [sessionCookie, refreshCookie].includes(name))
    .sort();

const cookieValue = async ({ context }: Person, cookie: string) =>
  (await context.cookies()).find(({ name }) => name === cookie)?.value ?? '';

const sessionsOf = (id: string) => app.db.$count(sessions, eq(sessions.user, id));

t.test('users of an application in cookie mode are signed in on every account page', async (t) => {
  const user = await createUser(app);
  const person = await newPerson(browser, service);
  await logIn(person, user, 'cookie');
  for (const path of ['/account', '/account/login', '/account/security']) {
    await person.open(path);
    await waitForOwnAccount(person);
    t.equal(await ownEmail(person), user.email, path);
  }
  t.strictSame(await cookiesOf(person), [refreshCookie]);
  t.equal(await sessionsOf(user.id), 1, 'no page starts another session');
  await changeFirstName(person, 'Ada');
  t.equal(await person.said('status'), 'Saved.');
  clock.advance(20 * minute);
  await changeFirstName(person, 'Grace');
  await person.page.getByText('Grace').first().waitFor();
  t.match(person.complaints(), [/401/], 'the access token had expired');
  t.equal(await person.page.evaluate('localStorage.length + sessionStorage.length'), 0, 'no token is stored');
});

t.test('changing the password does not end the session of the application', async (t) => {
  const user = await createUser(app);
  const person = await newPerson(browser, service);
  await logIn(person, user, 'cookie');
  await person.open('/account/security');
  await waitForOwnAccount(person);
  await openDialog(person, 'security', 'password');
  await person.page.getByLabel('New password').fill('a calm meadow in autumn');
  await person.page.getByRole('button', { name: 'Change password', exact: true }).click();
  t.match(await person.said('status'), 'Password changed.');
  await person.open('/account');
  await waitForOwnAccount(person);
  t.strictSame(person.complaints(), []);
});

for (const [dead, working] of [
  ['session', 'cookie'],
  ['cookie', 'session'],
] as const) {
  for (const how of ['expired', 'unknown'] as const) {
    t.test(`a session in mode ${working} is used although the other cookie is ${how}`, async (t) => {
      const user = await createUser(app);
      const person = await newPerson(browser, service);
      const name = dead === 'session' ? sessionCookie : refreshCookie;
      if (how === 'expired') {
        await logIn(person, user, dead);
        // Longer than any session without a refresh.
        clock.advance(8 * day);
      } else await person.context.addCookies([{ name, value: 'x'.repeat(64), url: service.url }]);
      await logIn(person, user, working);
      for (const path of ['/account', '/account/login']) {
        await person.open(path);
        await waitForOwnAccount(person);
        t.equal(await ownEmail(person), user.email, path);
      }
      await changeFirstName(person, 'Ada');
      t.equal(await person.said('status'), 'Saved.');
    });
  }
}

t.test('signing out ends the sessions of both cookies, and clears both', async (t) => {
  const user = await createUser(app);
  const person = await newPerson(browser, service);
  await logIn(person, user, 'cookie');
  await logIn(person, user, 'session');
  t.equal(await sessionsOf(user.id), 2);
  const [session, refresh] = [await cookieValue(person, sessionCookie), await cookieValue(person, refreshCookie)];
  await person.open('/account');
  await waitForOwnAccount(person);
  await person.page.getByRole('button', { name: 'Sign out' }).click();
  t.equal(await person.said('status'), 'You are signed out.');
  t.strictSame(await cookiesOf(person), []);
  t.equal(await sessionsOf(user.id), 0);
  t.equal((await service.get('/users/me', { cookie: `${sessionCookie}=${session}` })).status, 401);
  t.equal((await service.post('/auth/refresh', { refresh_token: refresh })).status, 401);
  await person.open('/account');
  t.match(person.page.url(), /\/account\/login/);
  t.strictSame(person.complaints(), []);
});

t.test('when no cookie has a session, the sign-in page clears both', async (t) => {
  const user = await createUser(app);
  const person = await newPerson(browser, service);
  const value = 'x'.repeat(64);
  await person.context.addCookies([
    { name: sessionCookie, value, url: service.url },
    { name: refreshCookie, value, url: service.url },
  ]);
  await person.open('/account/profile');
  await person.page.waitForURL(/\/account\/login\?redirect=%2Faccount%2Fprofile/);
  await signIn(person, user.email, user.password, person.page.url());
  await person.page.waitForURL(/\/account\/profile$/);
  await waitForOwnAccount(person);
  t.strictSame(await cookiesOf(person), [sessionCookie]);
});

t.test('users who confirm a new address stay signed in to the application', async (t) => {
  const user = await createUser(app);
  const person = await newPerson(browser, service);
  await logIn(person, user, 'cookie');
  await person.open('/account/profile');
  await waitForOwnAccount(person);
  await openDialog(person, 'profile', 'email');
  await person.page.locator('#new-email').fill(`new-${user.email}`);
  await person.page.locator('#email-form [type=submit]').click();
  await person.said('status');
  await person.open(await linkTo(app, 'confirm-email', `new-${user.email}`));
  await person.page.getByRole('button', { name: 'Confirm' }).click();
  await person.page.getByRole('heading', { name: 'Email address changed' }).waitFor();
  await person.page.getByRole('link', { name: 'Go to your account' }).click();
  await waitForOwnAccount(person);
  t.equal(await ownEmail(person), `new-${user.email}`);
  t.strictSame(person.complaints(), []);
});

t.test('a reset ends the session of the application, and starts one on the pages', async (t) => {
  const other = await createUser(app);
  const user = await createUser(app);
  const person = await newPerson(browser, service);
  await logIn(person, other, 'cookie');
  await service.post('/auth/password/request', { email: user.email });
  await person.open(await linkTo(app, 'reset-password', user.email));
  await person.page.getByLabel('New password').fill('a calm meadow in autumn');
  await person.page.getByRole('button', { name: 'Save password' }).click();
  await waitForOwnAccount(person);
  t.equal(await ownEmail(person), user.email);
  t.strictSame(await cookiesOf(person), [sessionCookie]);
  t.equal(await sessionsOf(other.id), 0);
});
