import t from 'tap';
import { accessibilityViolations, type Person, saveScreenshot } from '../helpers/browser/browser.js';
import { startConsole } from '../helpers/browser/console.js';
import { administrator, userPassword } from '../helpers/users/credentials.js';

/** Roles, policies, their rules, and the simulator in the console. */

const { call, signedIn, read } = await startConsole(t);

const { id: policy } = await call('POST', '/policies', { name: 'Directory', app_access: true });
const nested = {
  _or: [{ title: { _eq: 'Engineer' } }, { _and: [{ status: { _eq: 'draft' } }, { title: { _null: true } }] }],
};
const { id: rule } = await call('POST', '/permissions', {
  policy,
  collection: 'users',
  action: 'read',
  fields: ['id', 'first_name', 'last_name'],
  permissions: { status: { _eq: 'active' } },
});
const { id: nestedRule } = await call('POST', '/permissions', {
  policy,
  collection: 'users',
  action: 'update',
  fields: ['title'],
  permissions: { _and: [nested, { status: { _neq: 'archived' } }, { email: { _nin: ['x@example.com'] } }] },
});
const { id: editor } = await call('POST', '/roles', { name: 'Editor', policies: [policy] });
const { id: desk } = await call('POST', '/policies', { name: 'Desk' });
await call('POST', '/permissions?fields=id', { policy: desk, collection: 'roles', action: 'read', fields: ['*'] });
await call('POST', '/permissions?fields=id', { policy: desk, collection: 'policies', action: 'read', fields: ['*'] });
const { id: support } = await call('POST', '/roles', { name: 'Support', policies: [desk] });
const ada = { email: 'ada@example.com', password: userPassword, first_name: 'Ada', last_name: 'Lovelace' };
const { id: adaId } = await call('POST', '/users', { ...ada, status: 'active', role: editor });
const staff = { email: 'support@example.com', password: userPassword };
await call('POST', '/users', { ...staff, status: 'active', role: support });

const sentence = ({ page }: Person, text: string) => page.locator('.rule', { hasText: text });

t.test('a role is created from a template that is shown as sentences and in numbers, and gets members', async (t) => {
  const person = await signedIn();
  const { page, open } = person;
  await open('/console/roles');
  await page.getByRole('button', { name: 'New role' }).press('Enter');
  await page.getByRole('radio', { name: /^Support desk/ }).check();
  await sentence(person, 'Can read users — fields: ID, First name').waitFor();
  await sentence(person, 'Can change users — fields: First name, Last name, Status, and Authenticator app').waitFor();
  await page.getByText(/Can change 4 of \d+ fields of 3 users/).waitFor();
  const roles = await read(person, '/roles?filter[name][_eq]=Help');
  t.strictSame(roles, [], 'nothing is created before it is confirmed');
  await page.getByLabel('Name', { exact: true }).fill('Help');
  await page.getByRole('button', { name: 'Create role' }).press('Enter');
  await page.getByRole('heading', { name: 'Help', level: 1 }).waitFor();
  await page.getByRole('status').getByRole('link', { name: 'Add members' }).click();
  await page.getByRole('combobox', { name: 'Users' }).fill('lovelace');
  await page.keyboard.press('Enter');
  await page.getByText('Ada Lovelace: Editor').waitFor();
  await page.getByRole('button', { name: 'Add 1 member' }).press('Enter');
  await page.getByText('1 user now has the role Help.').waitFor();
  await page.getByRole('cell', { name: /^Ada Lovelace/ }).waitFor();
  const { role } = await read(person, `/users/${adaId}?fields=role.name`);
  t.strictSame(role, { name: 'Help' });
  await page.getByRole('button', { name: 'Undo' }).press('Enter');
  await page.getByText('No members yet').waitFor();
  t.strictSame((await read(person, `/users/${adaId}?fields=role.name`)).role, { name: 'Editor' }, 'the role as before');
  await page.getByRole('button', { name: 'Delete role' }).press('Enter');
  const question = page.getByRole('alertdialog', { name: 'Delete the role Help?' });
  await question.getByText('No user has this role.').waitFor();
  await question.getByRole('button', { name: 'Delete role' }).press('Enter');
  await page.getByText('The role Help was deleted.').waitFor();
  t.strictSame(person.complaints(), []);
});

t.test('nothing of a role stays behind if the connection is lost while it is created', async (t) => {
  const person = await signedIn();
  const { page, open } = person;
  await open('/console/roles/new?template=readonly');
  await page.getByLabel('Name', { exact: true }).fill('Auditors');
  const create = page.getByRole('button', { name: 'Create role' });
  const isHere = async (path: string) => ((await read(person, `${path}?search=Auditors`)) as unknown[]).length > 0;
  for (const lost of ['/permissions', '/roles']) {
    await page.route(`**${lost}`, (route) => route.abort(), { times: 1 });
    const policyGone = page.waitForResponse((response) => response.request().method() === 'DELETE');
    await create.press('Enter');
    await page.getByRole('alert').getByText('The service cannot be reached').waitFor();
    t.equal((await policyGone).status(), 204);
    t.equal(await isHere('/roles'), false, `without ${lost}`);
    t.equal(await isHere('/policies'), false, `without ${lost}`);
  }
  await create.press('Enter');
  await page.getByRole('heading', { name: 'Auditors', level: 1 }).waitFor();
  t.equal(await isHere('/roles'), true);
});

t.test('a search that fails says so, and offers nothing', async () => {
  const { page, open } = await signedIn();
  await open('/console/roles/new');
  const search = page.getByRole('combobox', { name: 'Policies' });
  await search.fill('Admin');
  await page.getByRole('option', { name: 'Administrator' }).waitFor();
  await search.fill('x'.repeat(300));
  await page.getByRole('status').getByText('search can have at most 255 characters').waitFor();
  await page.getByRole('option').waitFor({ state: 'detached' });
});

t.test('rules are added, changed, and deleted one by one, each with an undo', async (t) => {
  const person = await signedIn();
  const { page, open } = person;
  await open(`/console/policies/${policy}`);
  await sentence(person, 'Can read users — fields: ID, First name, and Last name — where Status is Active').waitFor();

  await page.getByRole('button', { name: 'Add rule' }).press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Add rule' });
  await dialog.getByLabel('Action').selectOption('delete');
  await dialog.getByText('Without a condition, this rule allows deleting every item.').first().waitFor();
  await dialog.getByRole('button', { name: 'Add condition' }).press('Enter');
  await dialog.getByLabel('Comparison').selectOption('in');
  await dialog.getByLabel('Archived').check();
  await dialog.getByLabel('Draft').check();
  await dialog.getByText('After this change:').waitFor();
  await dialog.getByText(/^Can delete 0 users/).waitFor();
  await dialog.getByText('Now: Can’t delete users').waitFor();
  await dialog.getByRole('button', { name: 'Add rule' }).press('Enter');
  // Until it is saved, the dialog shows it, too.
  await dialog.waitFor({ state: 'detached' });
  const added = sentence(person, 'Can delete users — where Status is any of Archived or Draft');
  await added.waitFor();
  const ofPolicy = `/permissions?filter[policy][_eq]=${policy}&filter[action][_eq]=delete&fields=permissions`;
  t.strictSame(await read(person, ofPolicy), [{ permissions: { status: { _in: ['archived', 'draft'] } } }]);

  await added.getByRole('button', { name: /^Delete rule/ }).press('Enter');
  await page.getByText('The rule was deleted.').waitFor();
  await added.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Undo' }).press('Enter');
  await page.getByText('The rule was deleted.').waitFor({ state: 'detached' });
  await added.waitFor();
  t.strictSame(await read(person, ofPolicy), [{ permissions: { status: { _in: ['archived', 'draft'] } } }]);

  await page.getByRole('button', { name: 'Edit rule: Can read users' }).press('Enter');
  const edit = page.getByRole('dialog', { name: 'Edit rule' });
  await edit.getByRole('combobox', { name: 'Add a field' }).fill('mail');
  await page.keyboard.press('ArrowDown');
  await edit
    .locator('.combobox-list')
    .getByRole('option', { name: /Email address/ })
    .click();
  // Another rule of the policy already shows all fields of some users.
  await edit
    .getByText(/^Sees some fields/)
    .first()
    .waitFor();
  await edit.getByRole('button', { name: 'Save' }).press('Enter');
  await page.getByText('The rule was saved.').waitFor();
  t.strictSame((await read(person, `/permissions/${rule}`)).fields, ['id', 'first_name', 'last_name', 'email']);
  await page.getByRole('button', { name: 'Undo' }).press('Enter');
  await page.getByText('The rule was saved.').waitFor({ state: 'detached' });
  t.strictSame((await read(person, `/permissions/${rule}`)).fields, ['id', 'first_name', 'last_name']);
  t.strictSame(person.complaints(), []);
});

t.test('conditions that the console cannot show in words are shown as JSON, and are kept', async (t) => {
  const person = await signedIn();
  const { page, open } = person;
  await open(`/console/policies/${policy}?rule=${nestedRule}`);
  const dialog = page.getByRole('dialog', { name: 'Edit rule' });
  await dialog.locator('code', { hasText: JSON.stringify(nested) }).waitFor();
  await dialog.getByLabel('Comparison').first().selectOption('eq');
  await dialog.getByRole('button', { name: 'Save' }).press('Enter');
  await page.getByText('The rule was saved.').waitFor();
  t.strictSame((await read(person, `/permissions/${nestedRule}`)).permissions, {
    _and: [nested, { status: { _eq: 'archived' } }, { email: { _nin: ['x@example.com'] } }],
  });
  t.strictSame(person.complaints(), []);
});

t.test('administrator access is explained and confirmed, and can be undone', async (t) => {
  const person = await signedIn();
  const { page, open } = person;
  const { id } = await call('POST', '/policies', { name: 'Root' });
  await open(`/console/policies/${id}`);
  await page.getByRole('button', { name: 'Turn on Administrator' }).press('Enter');
  const question = page.getByRole('alertdialog', { name: 'Make everybody with Root an administrator?' });
  await question.getByRole('button', { name: 'Cancel' }).press('Enter');
  t.equal((await read(person, `/policies/${id}`)).admin_access, false);
  await page.getByRole('button', { name: 'Turn on Administrator' }).press('Enter');
  await question.getByRole('button', { name: 'Grant administrator rights' }).press('Enter');
  await page.getByText('Everybody with this policy is an administrator').waitFor();
  t.equal((await read(person, `/policies/${id}`)).admin_access, true);
  await page.getByRole('button', { name: 'Undo' }).press('Enter');
  await page.getByText('Everybody with this policy is an administrator').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Delete policy' }).press('Enter');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete policy' }).press('Enter');
  await page.getByText('The policy Root was deleted.').waitFor();
  t.strictSame(person.complaints(), []);
});

t.test('the simulator says what somebody may do and why, and who may read a field', async (t) => {
  const person = await signedIn();
  const { page, open } = person;
  await open(`/console/users/${adaId}/access`);
  await page.getByRole('main').getByRole('link', { name: 'Open the simulator' }).click();
  await page.getByText(/^Sees some fields of 3 users/).waitFor();
  await page.getByText('Because of the policy Directory of the role Editor').first().waitFor();
  await page.getByText('Can’t create users').waitFor();
  await open(`/console/simulator?as=role:${editor}&field=email`);
  await page.getByText('Can’t change: Email address').waitFor();
  await page.getByText('No rule for this field applies. (Email address)').first().waitFor();
  await page.getByRole('radio', { name: 'The public' }).check();
  await page.getByText('Can’t read: Email address').waitFor();
  t.equal(new URL(page.url()).searchParams.get('as'), 'public');
  await page.getByRole('link', { name: 'Who can do it?' }).click();
  await page.getByLabel('Field').selectOption('first_name');
  const line = page.getByRole('listitem').filter({ hasText: 'Policy Directory' }).first();
  await line.getByText('where Status is Active').waitFor();
  await line.getByRole('link', { name: 'Editor' }).waitFor();
  await call('POST', '/permissions?fields=id', { policy: desk, collection: 'users', action: 'update', fields: ['*'] });
  await open('/console/simulator?view=who&action=update&field=title');
  await page.getByText('Policy Desk').waitFor();
  await page.getByLabel('Field').selectOption('role');
  await page.getByText('Reserved for administrators, whatever the rules say.').waitFor();
  await page.getByText('Policy Administrator').waitFor();
  t.equal(await page.getByText('Policy Desk').count(), 0, 'the rule does not cover the field');
  await page.getByLabel('Field').selectOption('title');
  await page.getByText('Policy Desk').waitFor();
  const retry = { policy, collection: 'mails', action: 'update', fields: ['*'] };
  const { id } = (await call('POST', '/permissions?fields=id', retry)) as { id: number };
  await open(`/console/simulator?as=role:${editor}`);
  await page.getByLabel('Type of item').selectOption('mails');
  await page.getByText('Can send failed emails again').waitFor();
  await page.getByText('Can’t read emails').waitFor();
  t.equal(
    await page
      .getByText(/emails$/)
      .filter({ hasText: /create|delete/ })
      .count(),
    0,
    'no such operations',
  );
  await page.getByText('users reach only items about users whose rights they have').waitFor();
  await page.getByLabel('ID of the item').fill(String(adaId));
  await page.getByText('This item does not exist.').first().waitFor();
  await page.getByLabel('Type of item').selectOption('sessions');
  await page.getByText('Can’t delete sessions').waitFor();
  await call('DELETE', `/permissions/${id}`, {});
  t.strictSame(person.complaints(), []);
});

t.test('users who may only read see the same screens without controls', async (t) => {
  const person = await signedIn(staff);
  const { page, open } = person;
  await open('/console/roles');
  await page.getByRole('link', { name: 'Editor' }).click();
  await page.getByRole('heading', { name: 'Editor', level: 1 }).waitFor();
  t.equal(await page.getByRole('button', { name: /Edit|Delete|Add/ }).count(), 0);
  t.equal(await page.getByRole('link', { name: /Simulator|Members/ }).count(), 0);
  await page.getByRole('link', { name: 'Open' }).click();
  await page.getByRole('heading', { name: 'Directory', level: 1 }).waitFor();
  t.equal(
    await page
      .getByRole('main')
      .getByRole('button', { name: /Edit|Delete|Add|Turn/ })
      .count(),
    0,
  );
  t.strictSame(person.complaints(), []);
});

t.test('the screens are accessible in light and dark, and fit the smallest screen', async (t) => {
  const person = await signedIn(administrator, { bypassCSP: true, viewport: { width: 320, height: 700 } });
  const { page, open } = person;
  const places = {
    '/console/roles': 'Editor',
    '/console/roles/new?template=manager': 'Can create users',
    [`/console/roles/${editor}`]: 'Can read users',
    [`/console/roles/${editor}/members?add=members`]: 'Add members to Editor',
    '/console/policies': 'Directory',
    [`/console/policies/${policy}`]: 'Can read users',
    [`/console/policies/${policy}?rule=${nestedRule}`]: 'The console cannot show this condition in words',
    [`/console/simulator?as=role:${editor}`]: 'Because of the policy',
    '/console/simulator?view=who': 'Policy Administrator',
  };
  for (const [path, text] of Object.entries(places)) {
    await open(path);
    await page.getByText(text).first().waitFor();
    await page.locator('.verdict.is-loading').first().waitFor({ state: 'detached' });
    t.equal(await page.evaluate('document.documentElement.scrollWidth'), 320, path);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      t.strictSame(await accessibilityViolations(person), [], `axe, ${colorScheme}: ${path}`);
      await saveScreenshot(person, `console-access-${colorScheme}-${path.replaceAll(/\W+/g, '-')}`);
    }
  }
  t.strictSame(person.complaints(), []);
});
