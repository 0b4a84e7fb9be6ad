import { eq } from 'drizzle-orm';
import type { Locator } from 'playwright-core';
import t from 'tap';
import { users } from '../../db/schema.js';
import type { Person } from '../helpers/browser/browser.js';
import { startConsole } from '../helpers/browser/console.js';
import { minute } from '../helpers/service/clock.js';
import { administrator, userPassword } from '../helpers/users/credentials.js';

/** Editing stored values in the console: of a user, of an application, and of the project. */

const { service, call, signedIn, read } = await startConsole(t);

const ada = { email: 'ada@example.com', password: userPassword, first_name: 'Ada', status: 'active' };
const { id: user } = await call('POST', '/users', ada);
const [first, second] = ['https://shop.example.com/one', 'https://shop.example.com/two'];
const { id: client } = await call('POST', '/clients', { name: 'Shop', type: 'confidential', redirect_uris: [first] });
const { id: role } = await call('POST', '/roles', { name: 'Member' });
await call('POST', '/users/invite', { email: 'invited@example.com', role });

const person = await signedIn();
const { page, open } = person;

const save = async (message: string) => {
  await page.getByRole('button', { name: 'Save' }).first().press('Enter');
  await page.getByText(message).waitFor();
};

t.test('a separator that is typed stays until the next value, and a change can be undone', async (t) => {
  await open(`/console/users/${user}`);
  const tags = page.getByLabel('Tags');
  await tags.pressSequentially('vip, beta tester');
  t.equal(await tags.inputValue(), 'vip, beta tester');
  await save('Ada’s profile was saved.');
  t.strictSame(await read(person, `/users/${user}?fields=tags`), { tags: ['vip', 'beta tester'] });
  await page.getByRole('button', { name: 'Undo' }).press('Enter');
  await page.getByRole('button', { name: 'Undo' }).waitFor({ state: 'detached' });
  t.strictSame(await read(person, `/users/${user}?fields=tags`), { tags: null });
  t.strictSame(person.complaints(), []);
});

t.test('two tabs edit one user: each keeps its own input, and neither overwrites what the other saves', async (t) => {
  const other = await person.context.newPage();
  const url = `${service.url}/console/users/${user}`;
  await open(`/console/users/${user}`);
  await page.getByLabel('Title').fill('Dr.');
  await other.goto(url);
  t.equal(await other.getByLabel('Title').inputValue(), '', 'what the first tab has not saved');
  await other.getByLabel('Location').fill('London');
  await other.getByRole('button', { name: 'Save' }).first().press('Enter');
  await other.getByText('Ada’s profile was saved.').waitFor();
  t.equal(await page.getByLabel('Title').inputValue(), 'Dr.');
  await save('Ada’s profile was saved.');
  t.strictSame(await read(person, `/users/${user}?fields=title,location`), { title: 'Dr.', location: 'London' });
  // The other tab reads again when the user returns to it.
  for (let attempts = 0; attempts < 50 && (await other.getByLabel('Title').inputValue()) !== 'Dr.'; attempts++) {
    await other.evaluate('dispatchEvent(new Event("focus"))');
    await other.waitForTimeout(200);
  }
  t.equal(await other.getByLabel('Title').inputValue(), 'Dr.');
  await other.close();
  await call('PATCH', `/users/${user}`, { title: null, location: null });
  t.strictSame(person.complaints(), []);
});

t.test('what somebody else has saved meanwhile is replaced only after a warning', async (t) => {
  const title = page.getByLabel('Title');
  const storedTitle = async () => ((await read(person, `/users/${user}?fields=title`)) as { title: unknown }).title;
  await open(`/console/users/${user}`);
  await title.fill('Mine');
  await page.getByLabel('Location').fill('Paris');
  await call('PATCH', `/users/${user}`, { title: 'Theirs' });
  await save('Someone else changed Title while you were editing.');
  t.equal(await storedTitle(), 'Theirs');
  t.equal(await title.inputValue(), 'Mine');
  await save('Ada’s profile was saved.');
  t.equal(await storedTitle(), 'Mine');
  await page.getByRole('button', { name: 'Undo' }).press('Enter');
  await page.getByRole('button', { name: 'Undo' }).waitFor({ state: 'detached' });
  t.equal(await storedTitle(), 'Theirs', 'the undo restores what was replaced');

  await title.fill('Mine');
  await call('PATCH', `/users/${user}`, { title: 'Others’' });
  await save('Someone else changed Title while you were editing.');
  await page.getByRole('button', { name: 'Cancel' }).first().press('Enter');
  t.equal(await title.inputValue(), 'Others’');

  await title.fill('Same');
  await call('PATCH', `/users/${user}`, { title: 'Same' });
  await page.getByLabel('First name').fill('Augusta');
  await save('Augusta’s profile was saved.');
  await call('PATCH', `/users/${user}`, { first_name: 'Ada', title: null, location: null });
  t.strictSame(person.complaints(), []);
});

t.test('a value that is too long is refused with the limit', async () => {
  const { page, open } = await signedIn();
  await open(`/console/users/${user}`);
  await page.getByLabel('Title').fill('x'.repeat(51));
  await page.getByRole('button', { name: 'Save' }).first().press('Enter');
  await page.getByText('title can have at most 50 characters.').waitFor();
});

t.test('a list with one value on each line accepts another line', async (t) => {
  await open(`/console/applications/${client}`);
  const uris = page.getByLabel('Redirect URIs', { exact: true });
  await uris.press('Control+End');
  await uris.pressSequentially(`\n${second}`);
  await save('Shop was saved.');
  t.strictSame(await read(person, `/clients/${client}?fields=redirect_uris`), { redirect_uris: [first, second] });
  t.strictSame(person.complaints(), []);
});

t.test('what has been entered is kept when the page is loaded again', async (t) => {
  await open('/console/settings');
  const name = page.getByLabel('Project name');
  await name.fill('Acme');
  await page.reload();
  await name.waitFor();
  t.equal(await name.inputValue(), 'Acme');
  await save('Saved: Project.');
  t.strictSame(await read(person, '/settings?fields=project_name'), { project_name: 'Acme' });
  t.strictSame(person.complaints(), []);
});

t.test('what has been entered in a form is kept until it is saved or discarded', async (t) => {
  const { id: clerks } = await call('POST', '/roles', { name: 'Clerks' });
  const { id: policy } = await call('POST', '/policies', { name: 'Clerical work' });
  await call('POST', '/users', { email: 'ruth@example.com', first_name: 'Ruth', last_name: 'Example' });
  /** Each form: where it is, the buttons that open it, and a field. For a picker, what is picked. */
  const forms: readonly (readonly [path: string, buttons: readonly string[], field: string, picked?: string])[] = [
    ['/console/roles/new', [], 'Name'],
    ['/console/applications', ['Add application'], 'Name'],
    ['/console/apis', ['Add API'], 'Name'],
    ['/console/policies', ['New policy'], 'Name'],
    [`/console/policies/${policy}`, ['Edit'], 'Name'],
    [`/console/policies/${policy}`, ['Edit IP addresses'], 'Addresses or ranges'],
    [`/console/roles/${clerks}`, ['Edit'], 'Name'],
    [`/console/roles/${clerks}`, ['Edit'], 'Parent role', 'Administrator'],
    [`/console/roles/${clerks}/members`, ['Add members'], 'Users', 'Ruth Example'],
    [`/console/users/${user}/access`, ['Edit'], 'Role', 'Clerks'],
    ['/console/users', ['Invite'], 'Email addresses'],
    ['/console/users', ['Create user'], 'First name'],
  ];
  for (const [path, buttons, label, picked] of forms) {
    const show = async () => {
      await open(path);
      for (const name of buttons) await page.getByRole('button', { name, exact: true }).first().press('Enter');
    };
    const form = page.locator('form', { has: page.getByRole('button', { name: 'Cancel' }) });
    const field =
      picked === undefined ? form.getByLabel(label, { exact: true }) : form.getByRole('combobox', { name: label });
    const isEntered = async () =>
      picked === undefined
        ? (await field.inputValue()) === 'A draft'
        : form.getByRole('button', { name: `Remove ${picked}` }).isVisible();
    await show();
    if (picked === undefined) await field.fill('A draft');
    else {
      await field.fill(picked);
      await page.getByRole('option', { name: picked }).first().click();
    }
    if (buttons.length > 0) await page.keyboard.press('Escape');
    await show();
    await form.waitFor();
    t.ok(await isEntered(), `${path}, ${label}: kept`);
    await page.getByRole('button', { name: 'Cancel' }).press('Enter');
    await show();
    await form.waitFor();
    t.notOk(await isEntered(), `${path}, ${label}: discarded`);
  }
  t.strictSame(person.complaints(), []);
});

t.test('the command palette opens forms', async (t) => {
  for (const [command, dialog] of [
    ['Create user', 'Create user'],
    ['Invite users', 'Invite users'],
    ['Add application', 'Add application'],
  ] as const) {
    await open('/console/roles');
    await page.getByRole('heading', { name: 'Roles', level: 1 }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Screen, command, or user' }).fill(command);
    await page.getByRole('option', { name: command }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: dialog }).waitFor();
  }
  t.strictSame(person.complaints(), []);
});

t.test('the command palette lists users first whose names start with the search', async (t) => {
  const called = (first_name: string, last_name: string) =>
    call('POST', '/users', { first_name, last_name, email: `${first_name}@example.com`, status: 'active' });
  for (let count = 1; count <= 10; count++) await called(`Person${count}`, 'McQuartz');
  await called('Quartzia', 'Stone');
  await open('/console/roles');
  await page.getByRole('heading', { name: 'Roles', level: 1 }).waitFor();
  await page.keyboard.press('Control+k');
  const search = page.getByRole('combobox', { name: 'Screen, command, or user' });
  const options = page.getByRole('option');
  await search.fill('quartz');
  await options.filter({ hasText: 'McQuartz' }).first().waitFor();
  await options.nth(7).waitFor();
  t.match(await options.first().innerText(), 'Quartzia Stone');
  const all = options.filter({ hasText: 'Show all users that match “quartz”' });
  await all.waitFor();
  await search.fill('st quart');
  await options.filter({ hasText: 'McQuartz' }).first().waitFor({ state: 'detached' });
  t.strictSame((await options.allInnerTexts()).length, 1);
  await search.fill('quartz');
  await all.click();
  await page.locator('[data-row]').nth(10).waitFor();
  t.match(page.url(), /\/console\/users\?q=quartz$/);
  t.strictSame(person.complaints(), []);
});

t.test('an invitation can be sent again from the list and from the user', async (t) => {
  const resend = async () => {
    // The message of an earlier one may still be visible.
    await Promise.all([
      page.waitForResponse((response) => response.url().endsWith('/users/invite')),
      page.getByRole('alertdialog').getByRole('button', { name: 'Resend invitation' }).press('Enter'),
    ]);
    await page.getByText('An invitation is on its way to invited@example.com.').first().waitFor();
  };
  await open('/console/invitations');
  await page.getByRole('button', { name: 'Resend' }).press('Enter');
  await resend();
  await page.getByRole('link', { name: 'invited@example.com' }).press('Enter');
  await page.getByRole('button', { name: 'Actions' }).press('Enter');
  await page.getByRole('menuitem', { name: 'Resend invitation' }).press('Enter');
  await resend();
  t.strictSame(person.complaints(), []);
});

t.test('invitations that have expired are listed apart', async (t) => {
  const [invited] = await read<{ id: string }[]>(person, '/users?filter[status]=invited&fields=id');
  await service.app.db
    .update(users)
    .set({ inviteExpiresAt: new Date(service.clock.now().getTime() - 1_000) })
    .where(eq(users.id, invited?.id ?? ''));
  await open('/console/invitations?state=pending');
  await page.getByText('No open invitations').waitFor();
  await page.getByRole('link', { name: 'Expired' }).press('Enter');
  const row = page.getByRole('row', { name: 'invited@example.com' });
  await row.getByText('Expired', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Resend' }).press('Enter');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Resend invitation' }).press('Enter');
  await page.getByText('No expired invitations').waitFor();
  await page.getByRole('link', { name: 'Pending' }).press('Enter');
  await row.getByText('in 6 days').waitFor();
  t.strictSame(person.complaints(), []);
});

/** Makes the console read again, as when the user returns to the tab, until something appears. It does not read too often. */
const readAgain = async (result: Locator) => {
  for (let attempts = 0; attempts < 50 && !(await result.isVisible()); attempts++) {
    await page.evaluate('dispatchEvent(new Event("focus"))');
    await page.waitForTimeout(200);
  }
  await result.waitFor();
};

/** The failure that is on the screen, and the ID of its request. */
const failed = async (words: string | RegExp) => {
  await page.getByRole('alert').getByText(words).waitFor();
  await page.getByText(/^Request ID: /).waitFor();
  person.complaints();
};

t.test('a button that fails, and an undo that fails, say why and name the request', async (t) => {
  const [policy] = (await read(person, '/policies?filter[admin_access][_eq]=true&fields=id')) as unknown as [
    { id: string },
  ];
  await open(`/console/policies/${policy.id}`);
  await page.getByRole('button', { name: 'Turn off Administrator' }).press('Enter');
  await failed(/administrator/i);
  t.equal((await read(person, `/policies/${policy.id}`)).admin_access, true);

  const { id } = await call('POST', '/users', { ...ada, email: 'gone@example.com', first_name: 'Gone' });
  await open(`/console/users/${id}`);
  await page.getByLabel('Title').fill('Engineer');
  await save('Gone’s profile was saved.');
  await call('DELETE', `/users/${id}`, {});
  await page.getByRole('button', { name: 'Undo' }).press('Enter');
  await failed(/not allowed|permission/i);
  t.ok(await page.getByRole('button', { name: 'Undo' }).isVisible(), 'it can be tried again');
});

t.test('what is on the screen stays when it cannot be read again', async (t) => {
  await open(`/console/roles/${role}`);
  await page.getByRole('button', { name: 'Edit' }).press('Enter');
  const name = page.getByRole('dialog').getByLabel('Name', { exact: true });
  await name.fill('Members');
  const broken = (url: URL) => url.pathname === `/roles/${role}`;
  await page.route(broken, (route) => route.fulfill({ status: 500, headers: { 'x-request-id': 'r1' }, body: '{}' }));
  await readAgain(page.getByRole('alert').getByText(/Something went wrong/));
  await failed(/Something went wrong/);
  t.equal(await name.inputValue(), 'Members');
  await page.unroute(broken);
});

t.test('what the user types while a form is saved stays', async (t) => {
  await open(`/console/users/${user}`);
  let proceed = () => {};
  const isSaving = new Promise<void>((started) => {
    void page.route(`**/users/${user}`, async (route) => {
      if (route.request().method() !== 'PATCH') return route.continue();
      started();
      await new Promise<void>((resolve) => {
        proceed = resolve;
      });
      return route.continue();
    });
  });
  await page.getByLabel('Title').fill('Engineer');
  await page.getByRole('button', { name: 'Save' }).press('Enter');
  await isSaving;
  await page.getByLabel('Location').fill('Paris');
  proceed();
  await page.getByText('Ada’s profile was saved.').waitFor();
  t.equal(await page.getByLabel('Location').inputValue(), 'Paris');
  t.strictSame(await read(person, `/users/${user}?fields=title,location`), { title: 'Engineer', location: null });
  await page.unrouteAll();
  await page.getByRole('button', { name: 'Cancel' }).press('Enter');
  t.strictSame(person.complaints(), []);
});

t.test('JSON that is not valid is not saved, and disappears when it is discarded', async (t) => {
  await open('/console/settings');
  const filter = page.getByLabel('Email addresses that may be used to register');
  const group = page.locator('form').filter({ has: filter });
  const stored = await filter.inputValue();
  await filter.fill('{"email":');
  await group.getByText('This is not valid JSON.').waitFor();
  t.ok(await group.getByRole('button', { name: 'Save' }).isDisabled());
  await group.getByRole('button', { name: 'Cancel' }).press('Enter');
  t.equal(await filter.inputValue(), stored);
  await filter.fill('{"email":{"_ends_with":"@example.com"}}');
  await group.getByRole('button', { name: 'Save' }).press('Enter');
  await page.getByText('Saved: Registration.').waitFor();
  t.strictSame((await read(person, '/settings')).public_registration_email_filter, {
    email: { _ends_with: '@example.com' },
  });
  await page.getByRole('button', { name: 'Undo' }).press('Enter');
  await page.getByText('Undone.').waitFor();
  t.equal((await read(person, '/settings')).public_registration_email_filter, null);
  t.strictSame(person.complaints(), []);
});

t.test('an API keeps its token lifetime until there is another one', async (t) => {
  const { id } = await call('POST', '/resources', { identifier: 'https://api.example.com/', name: 'Orders' });
  await open('/console/apis');
  await page.getByRole('button', { name: 'Edit' }).press('Enter');
  const lifetime = page.getByRole('dialog').getByLabel(/lifetime|access token/i);
  await lifetime.fill('');
  await page.getByRole('button', { name: 'Save' }).press('Enter');
  await page.locator('.fault:not(:empty)').waitFor();
  t.equal(await lifetime.getAttribute('aria-invalid'), 'true');
  await lifetime.fill('5m');
  await page.getByRole('button', { name: 'Save' }).press('Enter');
  await page
    .getByText('Saved: Orders.')
    .or(page.getByText(/Orders was saved/))
    .waitFor();
  t.equal((await read(person, `/resources/${id}`)).access_token_ttl, '5m');
  person.complaints();
});

t.test('a user without a password can get a link when they are activated', async (t) => {
  const { id } = await call('POST', '/users', { email: 'new@example.com', first_name: 'New', status: 'draft' });
  await open(`/console/users/${id}`);
  await page.getByRole('button', { name: 'Actions' }).press('Enter');
  await page.getByRole('menuitem', { name: 'Activate' }).press('Enter');
  const question = page.getByRole('alertdialog', { name: 'Activate New?' });
  await question.getByText('The user has no password').waitFor();
  t.ok(await question.getByLabel('Send a link to set a password').isChecked());
  const requested = page.waitForRequest('**/auth/password/request');
  await question.getByRole('button', { name: 'Activate' }).press('Enter');
  t.strictSame((await requested).postDataJSON(), { email: 'new@example.com' });
  await page.getByText('A password reset link for new@example.com was requested.').waitFor();
  t.strictSame(person.complaints(), []);
});

/** Ends the session, and waits until the console has noticed it. */
async function endSession({ context }: Person) {
  await context.clearCookies();
  await readAgain(page.getByRole('alertdialog', { name: 'Your session has ended' }));
}

t.test(
  'when the session ends, the user signs in in another tab, and only they get what they have entered',
  async (t) => {
    const addresses = page.getByLabel('Email addresses');
    await open('/console/invitations?new=yes');
    await addresses.fill('friend@example.com');
    await endSession(person);
    const [login] = await Promise.all([
      person.context.waitForEvent('page'),
      page.getByRole('alertdialog').getByRole('link', { name: 'Sign in' }).press('Enter'),
    ]);
    await login.getByLabel('Email address').fill(administrator.email);
    await login.getByLabel('Password', { exact: true }).fill(administrator.password);
    await Promise.all([login.waitForEvent('close'), login.getByRole('button', { name: 'Sign in' }).click()]);
    await page.getByRole('alertdialog').waitFor({ state: 'detached' });
    t.equal(await addresses.inputValue(), 'friend@example.com', 'the same user goes on');

    await endSession(person);
    await page.getByRole('alertdialog').getByRole('button', { name: 'Close' }).press('Enter');
    await readAgain(page.getByRole('alert').getByText('Your session has ended').first());
    t.equal(await addresses.inputValue(), 'friend@example.com', 'also if they do not sign in yet');

    const { id: access } = await call('POST', '/policies', { name: 'Also everything', admin_access: true });
    const other = { email: 'other@example.com', password: userPassword, status: 'active', policies: [access] };
    await call('POST', '/users', other);
    await person.context.request.post(`${service.url}/auth/login`, { data: { ...administrator, mode: 'session' } });
    await page.reload();
    await addresses.waitFor();
    t.equal(await addresses.inputValue(), 'friend@example.com');
    await endSession(person);
    const { email, password } = other;
    await person.context.request.post(`${service.url}/auth/login`, { data: { email, password, mode: 'session' } });
    await Promise.all([page.waitForEvent('load'), page.evaluate('dispatchEvent(new Event("focus"))')]);
    await addresses.waitFor();
    t.equal(await addresses.inputValue(), '', 'another user does not see it');
    t.notMatch(await page.evaluate('JSON.stringify(sessionStorage)'), 'friend', 'nor does their browser keep it');
    person.complaints();
  },
);

t.test('if the session is not fresh, the console asks for the password in place, and then continues', async (t) => {
  const { id: access } = await call('POST', '/policies', { name: 'Everything', admin_access: true });
  const { id } = await call('POST', '/users', {
    ...ada,
    email: 'grace@example.com',
    first_name: 'Grace',
    policies: [access],
  });
  const owner = await signedIn();
  await owner.open(`/console/users/${id}`);
  service.clock.advance(16 * minute);
  await owner.page.getByRole('textbox', { name: 'Email address' }).fill('hopper@example.com');
  await owner.page.getByRole('button', { name: 'Save' }).press('Enter');
  const proof = owner.page.getByRole('dialog', { name: 'Confirm that it’s you' });
  await proof.getByLabel('Current password', { exact: true }).fill(administrator.password);
  await proof.getByRole('button', { name: 'Continue' }).press('Enter');
  await owner.page.getByText('Grace’s profile was saved.').waitFor();
  t.strictSame(await read(owner, `/users/${id}?fields=email`), { email: 'hopper@example.com' });
});
