import { readFileSync } from 'node:fs';
import t from 'tap';
import { newPerson, type Person, readable, seesOwnAccount, signIn, startBrowser } from '../helpers/browser.js';
import { administrator, asAdministrator, createUser, type User, variables } from '../helpers/people.js';
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

t.test('users change their names', async (t) => {
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
  t.strictSame(sent, [{ first_name: null }], 'only changed fields are sent');
  t.strictSame(person.complaints(), []);
});

t.test('users change their language, which applies to the page immediately', async (t) => {
  const user = await createUser(service, everything);
  const person = await signedIn(user);
  await person.page.getByLabel('Language', { exact: true }).selectOption('Français');
  await person.page.getByRole('button', { name: 'Save' }).click();
  await person.page.getByRole('heading', { name: 'Votre compte' }).waitFor();
  const later = await signedIn(user);
  await later.page.getByRole('heading', { name: 'Votre compte' }).waitFor();
  t.strictSame([...person.complaints(), ...later.complaints()], []);
});

t.test('changing the password ends all other sessions of the user', async (t) => {
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
  t.match(await elsewhere.said('alert'), 'incorrect');
  await signIn(elsewhere, user.email, 'another good password');
  await seesOwnAccount(elsewhere);
});

t.test('a password that the service rejects is reported at its field', async (t) => {
  const person = await signedIn(await createUser(service, everything));
  const errors = [
    { message: 'x', extensions: { code: 'FAILED_VALIDATION', field: 'password', path: [], type: 'regex' } },
  ];
  await person.page.route('**/users/me/password', (route) => route.fulfill({ status: 400, json: { errors } }));
  await person.page.getByLabel('New password').fill('password1234');
  await person.page.getByRole('button', { name: 'Change password' }).click();
  t.match(await person.said('fault'), 'does not follow the rules of your organization');
});

t.test('a password can be shown, and is hidden again before it is sent', async (t) => {
  const { page } = await signedIn(await createUser(service, everything));
  const field = page.getByLabel('New password');
  const toggle = page.locator('[data-section=password]').getByRole('button', { name: 'Show password' });
  await field.fill('x');
  await toggle.click();
  t.equal(await field.getAttribute('type'), 'text');
  t.equal(await toggle.getAttribute('aria-pressed'), 'true');
  await page.getByRole('button', { name: 'Change password' }).click();
  t.equal(await field.getAttribute('type'), 'password');
});

t.test('members without permissions can view and manage their own account', async (t) => {
  const user = await createUser(service, []);
  const member = await signedIn(user);
  t.match(await readable(member), `Signed in as ${user.email}`);
  await member.page.getByLabel('First name').fill('Ada');
  await member.page.getByLabel('Last name').fill('Lovelace');
  await member.page.getByRole('button', { name: 'Save' }).click();
  t.equal(await member.said('status'), 'Saved.');
  await member.open('/account');
  await seesOwnAccount(member);
  t.equal(await member.page.getByLabel('Last name').inputValue(), 'Lovelace');
  t.equal(await member.page.locator('#tfa-begin').isVisible(), true);
  t.strictSame(member.complaints(), []);
});

t.test('users can download their stored data', async (t) => {
  const user = await createUser(service, []);
  const person = await signedIn(user);
  const download = person.page.waitForEvent('download');
  await person.page.getByRole('button', { name: 'Download my data' }).click();
  const file = await download;
  t.equal(file.suggestedFilename(), 'account-data.json');
  t.match(JSON.parse(readFileSync(await file.path(), 'utf8')), { user: { email: user.email } });
  t.strictSame(person.complaints(), []);
});

t.test('users can delete their account if the project allows it', async (t) => {
  const user = await createUser(service, []);
  const before = await signedIn(user);
  t.equal(await before.page.getByRole('button', { name: 'Delete my account' }).count(), 0);
  const call = await asAdministrator(service);
  await call('PATCH', '/settings', { self_deletion: true });
  t.teardown(async () => (await asAdministrator(service))('PATCH', '/settings', { self_deletion: false }));
  const person = await signedIn(user);
  const { page } = person;
  const section = page.getByRole('region', { name: 'Delete account' });
  const remove = section.getByRole('button', { name: 'Delete my account' });
  await remove.click();
  await section.getByText('This cannot be undone.').waitFor();
  t.equal(await page.evaluate('document.activeElement.textContent'), 'Cancel');
  await page.keyboard.press('Enter');
  t.equal(await section.getByText('This cannot be undone.').isVisible(), false);
  await remove.click();
  await remove.click();
  t.equal(await person.said('status'), 'Your account has been deleted.');
  t.match(page.url(), /\/account\/login\?notice=deleted/);
  t.strictSame(await person.context.cookies(), []);
  t.strictSame(person.complaints(), []);
  await signIn(person, user.email, user.password);
  t.match(await person.said('alert'), 'incorrect');

  const last = await signedIn(administrator);
  await last.page.getByRole('button', { name: 'Delete my account' }).click();
  await last.page.locator('[data-section=delete] [data-yes]').click();
  t.match(await last.said('alert'), 'You are the last administrator.');
});

t.test('without self-service, members can manage only how they sign in', async (t) => {
  const call = await asAdministrator(service);
  const user = await createUser(service, []);
  await call('PATCH', '/settings', { self_service: false });
  t.teardown(async () => (await asAdministrator(service))('PATCH', '/settings', { self_service: true }));
  const sections = ({ page }: Person) =>
    page.evaluate('[...document.querySelectorAll("section:not([hidden])")].map((section) => section.dataset.section)');
  t.strictSame(await sections(await signedIn(user)), ['password', 'tfa', 'sessions']);
  const everySection = ['profile', 'email', 'password', 'tfa', 'sessions', 'data'];
  t.strictSame(await sections(await signedIn(administrator)), everySection);
});

t.test('users who must set up two-factor authentication first see a notice', async (t) => {
  const person = await signedIn(await createUser(service, everything, { enforce_tfa: true }));
  t.match(await readable(person), 'Your account needs two-factor authentication.');
  t.equal(await person.page.getByLabel('First name').isVisible(), false);
});

t.test('the page refreshes an expired session, but only once', async (t) => {
  const person = await signedIn(await createUser(service, everything));
  const errors = [{ message: 'x', extensions: { code: 'TOKEN_EXPIRED' } }];
  const calls: string[] = [];
  let refusals = 1;
  await person.page.route(/\/(users|auth)\//, async (route) => {
    const { pathname } = new URL(route.request().url());
    calls.push(`${route.request().method()} ${pathname}`);
    if (pathname === '/users/me/profile' && refusals-- > 0) await route.fulfill({ status: 401, json: { errors } });
    else await route.continue();
  });
  await person.page.getByLabel('First name').fill('Ada');
  await person.page.getByRole('button', { name: 'Save' }).click();
  t.equal(await person.said('status'), 'Saved.');
  t.strictSame(calls, ['PATCH /users/me/profile', 'POST /auth/refresh', 'PATCH /users/me/profile']);

  refusals = 2;
  await person.page.getByLabel('First name').fill('Grace');
  await person.page.getByRole('button', { name: 'Save' }).click();
  await person.page.waitForURL(/\/account\/login/);
});
