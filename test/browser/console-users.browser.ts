import { readFileSync } from 'node:fs';
import t from 'tap';
import { accessibilityViolations, type Person, saveScreenshot } from '../helpers/browser/browser.js';
import { startConsole } from '../helpers/browser/console.js';
import { administrator, userPassword } from '../helpers/users/credentials.js';

/** The list of users in the console. */

const { service, call, signedIn } = await startConsole(t);

const { id: editor } = await call('POST', '/roles', { name: 'Editor' });
const { id: reader } = await call('POST', '/roles', { name: 'Reader', parent: editor });
const { id: trainee } = await call('POST', '/roles', { name: 'Trainee', parent: reader });
const { id: policy } = await call('POST', '/policies', { name: 'Support desk' });
const { id: support } = await call('POST', '/roles', { name: 'Support', policies: [policy] });
const supportFields = ['id', 'first_name', 'last_name', 'email', 'status'];
await call('POST', '/permissions', { policy, collection: 'users', action: 'read', fields: supportFields });

/** More than fit on one page. */
const many = 60;
const statuses = ['active', 'invited', 'suspended'];
const users = Array.from({ length: many }, (_, index) => ({
  first_name: 'Ada',
  last_name: `Person ${index}`,
  email: `person-${index}@example.com`,
  status: statuses[index % statuses.length],
  role: editor,
}));
for (const user of users) await call('POST', '/users', user);
const staff = { email: 'support@example.com', password: userPassword };
await call('POST', '/users', { ...staff, status: 'active', role: support });

async function openList(person: Person, query: Record<string, string> = {}) {
  await person.open(`/console/users?${new URLSearchParams(query)}`);
  await person.page.locator('table [data-row], .empty-state').first().waitFor();
}

const filterInUrl = ({ page }: Person): unknown => JSON.parse(new URL(page.url()).searchParams.get('filter') ?? 'null');

/** The number of users that the API finds. */
async function countOf(person: Person, filter: object): Promise<number> {
  const query = new URLSearchParams({ filter: JSON.stringify(filter), meta: 'filter_count', limit: '1' });
  const response = await person.context.request.get(`${service.url}/users?${query}`);
  return ((await response.json()) as { meta: { filter_count: number } }).meta.filter_count;
}

const named = { first_name: { _eq: 'Ada' } };

t.test('filters are added and edited with the keyboard, and are in the URL as the API expects them', async (t) => {
  const person = await signedIn();
  const { page } = person;
  const { keyboard } = page;
  await openList(person);
  await page.getByText(`${many + 2} users`).waitFor();

  await keyboard.press('f');
  await keyboard.type('susp');
  await keyboard.press('Enter');
  await page.getByText('20 users').waitFor();
  t.strictSame(filterInUrl(person), { status: { _in: ['suspended'] } });

  await page.getByRole('button', { name: /^Status is any of Suspended/ }).press('Enter');
  await page.getByLabel('Invited').press('Space');
  await page.getByRole('button', { name: 'Apply' }).press('Enter');
  await page.getByText('40 users').waitFor();
  t.strictSame(filterInUrl(person), { status: { _in: ['suspended', 'invited'] } });

  await page.goBack();
  await page.getByText('20 users').waitFor();
  t.strictSame(filterInUrl(person), { status: { _in: ['suspended'] } }, 'the back button restores the filter');

  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  await keyboard.type('parent');
  await keyboard.press('Enter');
  await page.getByRole('combobox', { name: 'Value' }).fill('Edit');
  await page.getByRole('option', { name: 'Editor' }).click();
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByText('No users found').waitFor();
  const inheriting = { role: { parent: { _in: [editor, reader, trainee] } } };
  t.strictSame(filterInUrl(person), { status: { _in: ['suspended'] }, ...inheriting }, 'at any depth');
  await page.getByRole('button', { name: 'Parent role is any of Editor, Reader, Trainee', exact: true }).waitFor();
  t.pass('the chip names the roles');

  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  await keyboard.type('last access');
  await keyboard.press('Enter');
  await page.getByLabel('Comparison').selectOption('is more than');
  await page.getByLabel('Number').fill('2');
  await page.getByLabel('Unit').selectOption('weeks ago');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('button', { name: 'Last access is more than 2 weeks ago', exact: true }).waitFor();
  t.strictSame(filterInUrl(person), { last_access: { _lt: '$NOW(-2 weeks)' } });
  await page.getByRole('button', { name: 'Last access is more than 2 weeks ago', exact: true }).click();
  await page.getByLabel('Include those without a value').check();
  await page.getByRole('button', { name: 'Apply' }).click();
  const orNever = page.getByRole('button', {
    name: 'Last access is more than 2 weeks ago or without a value',
    exact: true,
  });
  await orNever.waitFor();
  const older = { last_access: { _lt: '$NOW(-2 weeks)' } };
  t.strictSame(filterInUrl(person), { _or: [older, { last_access: { _null: true } }] });
  await page.getByText(`${many + 1} users`).waitFor();
  const header = page.getByRole('columnheader', { name: 'Last access' });
  t.equal(await header.getAttribute('aria-sort'), 'ascending', 'those who have been away the longest come first');
  await page.reload();
  await orNever.click();
  await page.getByLabel('Include those without a value').uncheck();
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByText('No users found').waitFor();
  t.strictSame(filterInUrl(person), older);
  t.strictSame(person.complaints(), []);
});

t.test('a filter asks for what its field can be, and its value has the focus', async (t) => {
  const person = await signedIn();
  const { page } = person;
  await openList(person);
  const choose = async (field: string) => {
    await page.getByRole('button', { name: 'Filter', exact: true }).click();
    await page.keyboard.type(field);
    await page.keyboard.press('Enter');
  };
  await choose('authenticator');
  t.strictSame(await page.getByLabel('Comparison').locator('option').allInnerTexts(), ['is on', 'is off']);
  await page.getByLabel('Comparison').selectOption('is off');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('button', { name: 'Authenticator app is off', exact: true }).waitFor();
  await page.getByText(`${many + 2} users`).waitFor();
  t.strictSame(filterInUrl(person), { tfa_secret: { _null: true } });

  await choose('role');
  await page.getByRole('combobox', { name: 'Value' }).waitFor();
  await page.keyboard.type('Editor');
  await page.getByRole('option', { name: 'Editor' }).click();
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByText(`${many} users`).waitFor();
  t.strictSame(person.complaints(), []);
});

t.test('users are only counted if they are few', async (t) => {
  const person = await signedIn();
  const { page } = person;
  const extra = 501;
  const isExtra = { provider: { _eq: 'github' } };
  const extraUsers = Array.from({ length: extra }, (_, index) => ({
    email: `extra-${index}@example.com`,
    provider: 'github',
  }));
  // The embedded database creates up to 300 at once.
  for (const part of [extraUsers.slice(0, 300), extraUsers.slice(300)]) await call('POST', '/users', part);
  t.teardown(async () => {
    for (let rest = extra; rest > 0; rest -= 300)
      await call('DELETE', '/users', { query: { filter: isExtra, limit: 300 } });
  });
  let sent: string[] = [];
  page.on('request', (request) => {
    for (const part of ['meta=filter_count', 'limit=501']) if (request.url().includes(part)) sent.push(part);
  });
  await openList(person, { filter: JSON.stringify(isExtra) });
  await page.getByText(`${extra} users`).waitFor();
  t.strictSame(sent, ['limit=501', 'meta=filter_count'], 'few in all, more match than are read');

  // What the console takes for many users: the API answers for fewer.
  await page.route(/\/users\?.*offset=10000(&|$)/, async (route) => {
    const response = await route.fetch({ url: route.request().url().replace('offset=10000', `offset=${many}`) });
    // Long enough for a count that does not wait.
    await new Promise((resolve) => setTimeout(resolve, 300));
    sent.push('answer');
    await route.fulfill({ response });
  });
  sent = [];
  await openList(person, { filter: JSON.stringify({ role: { _eq: editor } }) });
  await page.getByText(`${many} users`).waitFor();
  await page.waitForTimeout(400);
  t.strictSame(sent, ['limit=501', 'answer'], 'many in all, few match');

  sent = [];
  await openList(person, { filter: JSON.stringify(isExtra) });
  await page.getByText('More than 500 users').waitFor();
  t.notOk(sent.includes('meta=filter_count'), 'many match');
  await page.getByRole('checkbox').first().check();
  await page.getByRole('button', { name: 'Select all that match' }).click();
  await page.getByText('More than 500 users selected').waitFor();

  sent = [];
  await openList(person, { filter: JSON.stringify(isExtra), q: 'extra' });
  await page.getByText('More than 50 users').waitFor();
  await openList(person, { q: 'ada' });
  await page.getByText('More than 50 users').waitFor();
  await page.getByRole('searchbox').fill('');
  await page.getByText('More than 10,000 users').waitFor();
  t.notOk(sent.includes('meta=filter_count') || sent.includes('limit=501'), 'a search is not counted, nor all users');

  t.strictSame(person.complaints(), []);

  // As with a `QUERY_LIMIT_MAX` below 501.
  await page.route(/limit=501/, async (route) =>
    route.fulfill({ response: await route.fetch({ url: route.request().url().replace('limit=501', 'limit=none') }) }),
  );
  await openList(person, { filter: JSON.stringify({ first_name: { _eq: 'Ada' } }) });
  await page.getByText('More than 50 users').waitFor();
  t.ok(
    person.complaints().every((complaint) => complaint.includes('400')),
    'the browser reports the refusal, and nothing else',
  );
});

t.test('a filter that the console cannot describe is shown as JSON and survives other changes', async (t) => {
  const person = await signedIn();
  const { page } = person;
  const written = { _or: [{ status: { _eq: 'invited' } }, { last_name: { _eq: 'Person 0' } }] };
  await openList(person, { filter: JSON.stringify(written) });
  await page.getByText('21 users').waitFor();
  await page.getByText(JSON.stringify(written)).waitFor();
  await page.keyboard.press('f');
  await page.keyboard.type('active');
  await page.getByRole('option', { name: 'Active Status' }).click();
  await page.getByText('1 user', { exact: true }).waitFor();
  t.strictSame(filterInUrl(person), { ...written, status: { _in: ['active'] } });

  await page.goto('/console/users?filter=%7Bnot');
  await page.getByText('{not').waitFor();
  await page
    .getByRole('alert')
    .getByText(/filter/i)
    .waitFor();
  t.pass('a filter that is not JSON is shown, with the words of the API');
});

t.test('spaces around a search do not matter, and the columns are in the URL', async (t) => {
  const person = await signedIn();
  const { page } = person;
  await openList(person);
  await page.keyboard.press('/');
  await page.keyboard.type(' person 59 ');
  await page.getByText('1 user', { exact: true }).waitFor();
  t.equal(new URL(page.url()).searchParams.get('q'), 'person 59');
  await page.getByRole('searchbox').fill('ada 58');
  await page.getByText('Person 58').waitFor();
  await page.getByText('1 user', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByLabel('Created').check();
  await page.keyboard.press('Escape');
  await page.getByRole('columnheader', { name: 'Created' }).waitFor();
  t.equal(new URL(page.url()).searchParams.get('columns'), 'status,role,last_access,created_at');
  await page.getByRole('columnheader', { name: 'Created' }).getByRole('button').click();
  await page.waitForURL(/sort=created_at/);
  t.strictSame(person.complaints(), []);
});

t.test('a page of the list has a link, and the back button leads back to it', async (t) => {
  const person = await signedIn();
  const { page } = person;
  await openList(person);
  const rows = page.locator('[data-row]');
  const next = page.getByRole('button', { name: 'Next' });
  const previous = page.getByRole('button', { name: 'Previous' });
  const firstRow = await rows.first().getAttribute('data-row');
  await next.click();
  await page.getByText('Page 2').waitFor();
  await page.locator(`[data-row="${firstRow}"]`).waitFor({ state: 'detached' });
  const shown = await rows.evaluateAll((all) => all.map((row) => row.getAttribute('data-row')));
  t.equal(shown.length, many + 2 - 50, 'the rest is on the second page');

  await rows.first().getByRole('link').click();
  await page
    .getByRole('tab', { name: 'Profile' })
    .or(page.getByRole('link', { name: 'Profile' }))
    .first()
    .waitFor();
  await page.goBack();
  await page.getByText('Page 2').waitFor();
  await page.locator(`[data-row="${shown[0]}"]`).waitFor();
  t.pass('the same page is shown again');

  const other = await signedIn();
  await other.page.goto(page.url());
  await other.page.locator(`[data-row="${shown[0]}"]`).waitFor();
  await other.page.getByText('Page 2').waitFor();
  await other.page.getByRole('button', { name: 'Previous' }).click();
  await other.page.locator(`[data-row="${firstRow}"]`).waitFor();
  t.pass('somebody else opens the link, and gets to the first page from there');

  await previous.click();
  await page.locator(`[data-row="${firstRow}"]`).waitFor();
  t.notMatch(page.url(), 'cursor', 'the first page needs no cursor');
  await next.click();
  await page.getByText('Page 2').waitFor();
  await page.getByRole('searchbox').fill('person 59');
  await page.getByText('1 user', { exact: true }).waitFor();
  t.notMatch(page.url(), 'cursor', 'a search begins with the first page');
  t.strictSame(person.complaints(), []);
});

t.test('a view is a link with a name, which stays in this browser', async (t) => {
  const person = await signedIn();
  const { page } = person;
  await openList(person);
  await page.getByRole('link', { name: 'Invited' }).click();
  await page.getByText('20 users').waitFor();
  t.strictSame(filterInUrl(person), { status: { _eq: 'invited' } });
  await page.getByRole('columnheader', { name: 'Status' }).getByRole('button').click();
  await page.getByRole('button', { name: 'Save view' }).click();
  await page.getByLabel('Name of the view').fill('Waiting');
  await page.keyboard.press('Enter');
  await page.getByText('The view “Waiting” was saved.').waitFor();
  await openList(person);
  await page.getByRole('link', { name: 'Waiting' }).click();
  await page.getByText('20 users').waitFor();
  t.match(page.url(), /sort=status/);
  await page.getByRole('button', { name: 'Delete the view “Waiting”' }).click();
  await page.getByRole('link', { name: 'Waiting' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('link', { name: 'Waiting' }).waitFor();
  t.strictSame(person.complaints(), []);
});

t.test('the role of all users that match changes after a dry run, and back again', async (t) => {
  const person = await signedIn();
  const { page } = person;
  await openList(person, { filter: JSON.stringify(named) });
  // The first row has the focus, and then the second one.
  for (const key of ['j', 'j', 'x']) await page.keyboard.press(key);
  await page.getByText('1 user selected').waitFor();
  await page.getByRole('button', { name: `Select all ${many} that match` }).click();
  await page.getByText(`${many} users selected`).waitFor();
  await page.locator('[data-row] input').first().uncheck();
  await page.getByText(`${many - 1} users selected`).waitFor();

  await page.getByRole('button', { name: 'Change role' }).click();
  const newRole = page.getByRole('combobox', { name: 'New role' });
  await page.getByRole('option', { name: 'Administrator' }).waitFor();
  await newRole.press('Enter');
  t.equal(await newRole.count(), 1, 'without a search, Enter picks nothing');
  await newRole.press('ArrowUp');
  t.equal(await page.getByRole('option').last().getAttribute('aria-selected'), 'true');
  await newRole.fill('Read');
  await page.getByRole('option', { name: 'Reader' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText(`${many - 1} users will change.`).waitFor();
  t.match(await page.getByRole('dialog').innerText(), /59\s+Editor\s+→\s+Reader/, 'the dry run says what will happen');
  t.equal(await countOf(person, { role: { _eq: reader } }), 0, 'and changes nothing');
  await page.getByRole('region', { name: 'What Reader allows' }).getByText('Can’t read users').waitFor();

  await page.getByRole('button', { name: `Change ${many - 1} users` }).click();
  await page.getByText(`${many - 1} users now have the role: Reader.`).waitFor();
  t.equal(await countOf(person, { role: { _eq: reader } }), many - 1);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('button', { name: 'Undo' }).waitFor({ state: 'detached' });
  t.equal(await countOf(person, { role: { _eq: editor } }), many);
  t.strictSame(person.complaints(), []);
});

t.test('a link is sent to users without a password who are activated, and one that fails is reported', async (t) => {
  const person = await signedIn();
  const { page } = person;
  const activate = async (q: string) => {
    await openList(person, { q });
    await page.locator('[data-row] input').first().check();
    await page.getByRole('button', { name: 'Change status' }).click();
    await page.getByRole('menuitem', { name: 'Activate' }).click();
    await page.getByText('1 user will change.').waitFor();
    t.ok(
      await page.getByLabel('Send the 1 user without a password a link to set one').isChecked(),
      'invited users have no password',
    );
    await page.getByRole('button', { name: 'Change 1 user' }).click();
  };
  const isActive = (email: string) => ({ email: { _eq: email }, status: { _eq: 'active' } });
  await activate('person-1@');
  await page.getByText('1 user is now: Active.').waitFor();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  t.equal(await countOf(person, isActive('person-1@example.com')), 1);
  t.strictSame(person.complaints(), []);

  await page.route('**/auth/password/request', (route) => route.fulfill({ status: 500, body: '{}' }));
  await activate('person-4@');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('The link for the 1 user without a password was not sent.').waitFor();
  await dialog
    .getByRole('alert')
    .getByText(/Something went wrong/)
    .waitFor();
  t.equal(await countOf(person, isActive('person-4@example.com')), 1);
});

t.test('the API refuses some users: the dry run and the result name them, and the others are changed', async (t) => {
  const { id: desk } = await call('POST', '/policies', { name: 'Status desk' });
  for (const action of ['read', 'update'])
    await call('POST', '/permissions', { policy: desk, collection: 'users', action, fields: supportFields });
  const { id: role } = await call('POST', '/roles', { name: 'Status desk', policies: [desk] });
  const agent = { email: 'agent@example.com', password: userPassword };
  await call('POST', '/users', { ...agent, status: 'active', role });
  const { id: gone } = await call('POST', '/users', { ...users[0], email: 'gone@example.com', first_name: 'Gone' });
  const person = await signedIn(agent);
  const { page } = person;
  const filter = {
    email: { _in: [administrator.email, 'gone@example.com', 'person-2@example.com', 'person-3@example.com'] },
  };
  await openList(person, { filter: JSON.stringify(filter) });
  await page.getByLabel('Select all rows on this page').check();
  await page.getByRole('button', { name: 'Change status' }).click();
  await page.getByRole('menuitem', { name: 'Archive' }).click();
  await page.getByText('3 users will change.').waitFor();
  const refused = await page.getByRole('region', { name: '1 user will not be changed' }).innerText();
  t.match(refused, /admin@example\.com\s+.*administrator/i);
  t.equal(await countOf(person, { ...filter, status: { _eq: 'archived' } }), 0, 'nothing is changed yet');

  await call('DELETE', `/users/${gone}`, {});
  await page.getByRole('button', { name: 'Change 3 users' }).click();
  const failed = await page.getByRole('region', { name: '1 user could not be changed' }).innerText();
  t.match(failed, /Gone/);
  await page.getByRole('dialog').getByText('2 users are now: Archived.').waitFor();
  t.equal(await countOf(person, { ...filter, status: { _eq: 'archived' } }), 2);

  // Without the audit log, the console finds out with a dry run whom the caller may help.
  const actionsOn = async (name: string) => {
    await openList(person, { q: name });
    const tried = page.waitForResponse(/dry_run/);
    await page.locator('[data-row]').first().getByRole('link').click();
    await tried;
    const actions = page.getByRole('button', { name: 'Actions' });
    await actions.waitFor();
    await actions.press('Enter');
    return page.getByRole('menuitem').allInnerTexts();
  };
  t.notOk((await actionsOn(administrator.email)).includes('Suspend'));
  t.ok((await actionsOn('person-6@')).includes('Suspend'));
});

t.test('nobody deletes their own account with others', async (t) => {
  const person = await signedIn();
  const { page } = person;
  await openList(person);
  const before = await countOf(person, {});
  await page.getByLabel('Select all rows on this page').check();
  await page.getByRole('button', { name: `Select all ${before} that match` }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByText(`${before - 1} users will be deleted.`).waitFor();
  const refused = page.getByRole('region', { name: '1 user will not be changed' });
  t.match(await refused.innerText(), /admin@example\.com\s+This is your own account\./);
  await page.getByRole('button', { name: 'Cancel' }).click();
  t.equal(await countOf(person, {}), before, 'nothing was deleted');
  t.strictSame(person.complaints(), []);
});

t.test('users are invited, created, and deleted', async (t) => {
  const person = await signedIn();
  const { page } = person;
  await openList(person);
  await page.getByRole('button', { name: 'Invite' }).click();
  await page.getByLabel('Email addresses').fill('first@example.com, Second <second@example.com>\n');
  await page.getByRole('combobox', { name: 'Role' }).fill('Read');
  await page.getByRole('option', { name: 'Reader' }).click();
  await page.getByRole('button', { name: 'Send 2 invitations' }).click();
  await page.getByRole('link', { name: 'Show invited users' }).click();
  await page.getByText('second@example.com').waitFor();
  const invited = { email: { _in: ['first@example.com', 'second@example.com'] }, status: { _eq: 'invited' } };
  t.equal(await countOf(person, invited), 2);

  await openList(person, { filter: JSON.stringify(invited) });
  await page.getByLabel('Select all rows on this page').check();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete 2 users' }).click();
  await page.getByText('2 users were deleted.').waitFor();
  t.equal(await countOf(person, invited), 0);

  await page.getByRole('button', { name: 'Create user' }).click();
  await page.getByRole('textbox', { name: 'Email address' }).fill('person-0@example.com');
  await page.getByLabel('First name').fill('Grace');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.locator('.fault:not(:empty)').waitFor();
  t.equal(
    await page.getByRole('textbox', { name: 'Email address' }).getAttribute('aria-invalid'),
    'true',
    'the failure is at the field',
  );
  person.complaints();
  await page.getByRole('textbox', { name: 'Email address' }).fill('grace@example.com');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.waitForURL(/\/console\/users\/[0-9a-f-]{36}/);
  t.equal(await countOf(person, { email: { _eq: 'grace@example.com' }, first_name: { _eq: 'Grace' } }), 1);
  t.strictSame(person.complaints(), []);
});

t.test('the export is a download of everything that matches, by the browser itself', async (t) => {
  const person = await signedIn();
  const { page } = person;
  await openList(person, { filter: JSON.stringify(named), sort: 'id' });
  await page.getByRole('button', { name: 'Export' }).click();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'Export as CSV' }).click(),
  ]);
  const url = new URL(file.url());
  t.equal(url.pathname, '/users');
  t.match(Object.fromEntries(url.searchParams), {
    export: 'csv',
    limit: '-1',
    filter: JSON.stringify(named),
    sort: 'id',
  });
  const [, ...rows] = readFileSync(await file.path(), 'utf8')
    .trim()
    .split(/\r?\n/);
  t.equal(rows.length, await countOf(person, named));
  t.strictSame(person.complaints(), []);
});

t.test('users who may only read some fields see a smaller list, and nothing that the API would refuse', async (t) => {
  const person = await signedIn(staff);
  const { page } = person;
  await openList(person, { columns: 'status,role,tags,last_access' });
  t.strictSame(await page.getByRole('columnheader').allInnerTexts(), ['Name', 'Status']);
  for (const name of ['Invite', 'Create user']) t.equal(await page.getByRole('button', { name }).count(), 0, name);
  t.equal(await page.getByRole('checkbox').count(), 0);
  t.equal(await page.getByRole('link', { name: 'Never signed in' }).count(), 0);
  await page.keyboard.press('f');
  t.strictSame((await page.getByRole('option').allInnerTexts()).sort(), [
    'Email address',
    'First name',
    'ID',
    'Last name',
    'Status',
  ]);
  t.strictSame(person.complaints(), []);
});

t.test('users who may read some events, or only invitations, get what they may read', async (t) => {
  await call('POST', '/permissions', {
    policy,
    collection: 'activity',
    action: 'read',
    fields: ['id', 'action', 'timestamp'],
  });
  const person = await signedIn(staff);
  const { page } = person;
  await openList(person);
  await page.locator('[data-row]').first().getByRole('link').click();
  await page.getByRole('heading', { level: 1 }).waitFor();
  await person.open('/console/invitations');
  await page
    .getByRole('link', { name: /person-\d+@/ })
    .first()
    .waitFor();
  t.strictSame(await page.getByRole('columnheader').allInnerTexts(), ['Email address']);
  await person.open('/console/activity');
  await page.getByRole('row').nth(1).getByText(/\w/).first().waitFor();
  t.strictSame(person.complaints(), []);
});

t.test('a row shows that it has the focus', async (t) => {
  const person = await signedIn();
  await openList(person);
  const row = person.page.locator('[data-row]').first();
  const before = await row.screenshot();
  await person.page.keyboard.press('j');
  t.equal(await row.locator('a:focus').count(), 1);
  t.notOk(before.equals(await row.screenshot()));
});

t.test('a click with Ctrl opens the user in another tab of the console', async (t) => {
  const person = await signedIn();
  await openList(person);
  const [tab] = await Promise.all([
    person.context.waitForEvent('page'),
    person.page
      .locator('[data-row] td:not(.select-cell)')
      .nth(1)
      .click({ modifiers: ['Control'] }),
  ]);
  await tab.waitForURL(/\/console\/users\/[0-9a-f-]{36}$/);
  t.pass();
});

t.test('the console loads no picture from another host', async (t) => {
  await call('PATCH', '/users', {
    query: { filter: named, limit: 1 },
    data: { avatar: 'https://pictures.example.com/1.png' },
  });
  const person = await signedIn();
  await openList(person, { filter: JSON.stringify({ avatar: { _nnull: true } }) });
  await person.page.locator('[data-row] .avatar', { hasText: 'AP' }).waitFor();
  t.strictSame(person.complaints(), []);
});

t.test('the list is accessible in light and dark, and fits the smallest screen', async (t) => {
  const person = await signedIn(administrator, { bypassCSP: true });
  const { page } = person;
  const look = async (state: string) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      t.strictSame(await accessibilityViolations(person), [], `axe, ${colorScheme}: ${state}`);
      await saveScreenshot(person, `console-users-${colorScheme}-${state.replaceAll(' ', '-')}`);
    }
  };
  const filter = JSON.stringify({ status: { _in: ['active', 'invited'] }, _or: [named] });
  await openList(person, { filter });
  await page.locator('[data-row] input').first().check();
  await look('a selection');
  await page
    .getByRole('button', { name: /^Status/ })
    .first()
    .click();
  await look('a filter');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Columns' }).click();
  await look('the columns');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('1 user will be deleted.').waitFor();
  await look('a deletion');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Create user' }).click();
  await look('a new user');

  const phone = await signedIn(administrator, { viewport: { width: 320, height: 600 } });
  const isTooWide = () => phone.page.evaluate('document.documentElement.scrollWidth > 320');
  for (const lang of ['de-DE', 'en-US', 'es-ES', 'fr-FR', 'zh-CN']) {
    await openList(phone, { filter, lang });
    t.equal(await isTooWide(), false, lang);
    await phone.page.locator('[data-row] input').first().check();
    t.equal(await isTooWide(), false, `${lang}: a selection`);
  }
  t.strictSame(phone.complaints(), []);
});
