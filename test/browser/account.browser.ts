import t from 'tap';
import { newPerson, readable, seesOwnAccount, signIn, startBrowser } from '../helpers/browser.js';
import { createUser, type User, variables } from '../helpers/people.js';
import { createHome, startService } from '../helpers/service.js';

const service = await startService(await createHome(t, { prepared: true }), variables);
const browser = await startBrowser(t);

const everything = ['first_name', 'last_name', 'language', 'password'];

async function signedIn(user: User) {
  const person = await newPerson(browser, service);
  await signIn(person, user.email, user.password);
  await seesOwnAccount(person);
  return person;
}

t.test('one’s names', async (t) => {
  const person = await signedIn(await createUser(service, everything));
  const { page } = person;
  await page.getByLabel('First name').fill('Ada');
  await page.getByLabel('Last name').fill('<b>Lovelace</b>');
  await page.getByRole('button', { name: 'Save' }).click();
  t.equal(await person.said('status'), 'Saved.');
  await person.open('/account');
  await seesOwnAccount(person);
  t.equal(await page.getByLabel('First name').inputValue(), 'Ada');
  t.equal(await page.getByLabel('Last name').inputValue(), '<b>Lovelace</b>');

  const sent: unknown[] = [];
  page.on('request', (request) => request.method() === 'PATCH' && sent.push(request.postDataJSON()));
  await page.getByLabel('First name').fill('');
  await page.getByRole('button', { name: 'Save' }).click();
  t.equal(await person.said('status'), 'Saved.');
  t.strictSame(sent, [{ first_name: null }], 'only what has changed');
  t.strictSame(person.complaints(), []);
});

t.test('one’s language, which is that of the page from then on', async (t) => {
  const user = await createUser(service, everything);
  const person = await signedIn(user);
  await person.page.getByLabel('Language', { exact: true }).selectOption('Français');
  await person.page.getByRole('button', { name: 'Save' }).click();
  await person.page.getByRole('heading', { name: 'Votre compte' }).waitFor();
  const later = await signedIn(user);
  await later.page.getByRole('heading', { name: 'Votre compte' }).waitFor();
  t.strictSame([...person.complaints(), ...later.complaints()], []);
});

t.test('one’s password; whoever else had signed in is out', async (t) => {
  const user = await createUser(service, everything);
  const [person, elsewhere] = [await signedIn(user), await signedIn(user)];
  const change = async (password: string) => {
    await person.page.getByLabel('New password').fill(password);
    await person.page.getByRole('button', { name: 'Change password' }).click();
  };
  await change('short');
  t.equal(await person.said('fault'), 'Use at least 8 characters.');
  await change('another good password');
  t.match(await person.said('status'), 'Password changed.');
  t.equal(await person.page.getByLabel('New password').inputValue(), '');
  await person.open('/account');
  await seesOwnAccount(person);
  t.strictSame(person.complaints(), []);

  await elsewhere.page.getByLabel('First name').fill('Eve');
  await elsewhere.page.getByRole('button', { name: 'Save' }).click();
  await elsewhere.page.waitForURL(/\/account\/login\?redirect=/);
  await signIn(elsewhere, user.email, user.password);
  t.match(await elsewhere.said('alert'), 'not right');
  await signIn(elsewhere, user.email, 'another good password');
  await seesOwnAccount(elsewhere);
});

t.test('a password that the service refuses', async (t) => {
  const person = await signedIn(await createUser(service, everything));
  const errors = [
    { message: 'x', extensions: { code: 'FAILED_VALIDATION', field: 'password', path: [], type: 'regex' } },
  ];
  await person.page.route('**/users/me', (route) => route.fulfill({ status: 400, json: { errors } }));
  await person.page.getByLabel('New password').fill('password1234');
  await person.page.getByRole('button', { name: 'Change password' }).click();
  t.match(await person.said('fault'), 'Choose a longer or less common one');
});

t.test('a password can be shown, and is hidden again before it is sent', async (t) => {
  const { page } = await signedIn(await createUser(service, everything));
  const field = page.getByLabel('New password');
  const toggle = page.getByRole('button', { name: 'Show password' });
  await field.fill('x');
  await toggle.click();
  t.equal(await field.getAttribute('type'), 'text');
  t.equal(await toggle.getAttribute('aria-pressed'), 'true');
  await page.getByRole('button', { name: 'Change password' }).click();
  t.equal(await field.getAttribute('type'), 'password');
});

t.test('there is only what one may change', async (t) => {
  const names = await signedIn(await createUser(service, ['first_name']));
  t.equal(await names.page.getByLabel('First name').isEnabled(), true);
  t.equal(await names.page.getByLabel('Last name').isEnabled(), false);
  t.equal(await names.page.getByLabel('New password').isVisible(), false);
  const nothing = await signedIn(await createUser(service, []));
  t.match(await readable(nothing), 'Only an administrator can change this account.');
  t.equal(await nothing.page.locator('form:visible').count(), 0);
  t.strictSame([...names.complaints(), ...nothing.complaints()], []);
});

t.test('who must set up two-factor authentication first is told so', async (t) => {
  const person = await signedIn(await createUser(service, everything, { enforce_tfa: true }));
  t.match(await readable(person), 'Your account needs two-factor authentication.');
  t.equal(await person.page.getByLabel('First name').isVisible(), false);
});

t.test('a session that has expired is refreshed, once', async (t) => {
  const person = await signedIn(await createUser(service, everything));
  const errors = [{ message: 'x', extensions: { code: 'TOKEN_EXPIRED' } }];
  const calls: string[] = [];
  let refusals = 1;
  await person.page.route(/\/(users|auth)\//, async (route) => {
    const { pathname } = new URL(route.request().url());
    calls.push(`${route.request().method()} ${pathname}`);
    if (pathname === '/users/me' && refusals-- > 0) await route.fulfill({ status: 401, json: { errors } });
    else await route.continue();
  });
  await person.page.getByLabel('First name').fill('Ada');
  await person.page.getByRole('button', { name: 'Save' }).click();
  t.equal(await person.said('status'), 'Saved.');
  t.strictSame(calls, ['PATCH /users/me', 'POST /auth/refresh', 'PATCH /users/me']);

  refusals = 2;
  await person.page.getByLabel('First name').fill('Grace');
  await person.page.getByRole('button', { name: 'Save' }).click();
  await person.page.waitForURL(/\/account\/login/);
});
