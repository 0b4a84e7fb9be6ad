import { and, eq, isNull, sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { activity, identities, sessions } from '../../db/schema.js';
import { accessibilityViolations, type Person, saveScreenshot } from '../helpers/browser/browser.js';
import { startConsole } from '../helpers/browser/console.js';
import { providerVariables } from '../helpers/providers/openid-provider.js';
import { administrator, userPassword } from '../helpers/users/credentials.js';
import { openSession } from '../helpers/users/sessions.js';
import { createUser, storedUser } from '../helpers/users/users.js';

/** Opens every screen of the console as each kind of user, including users who do not have access to it. */

/** Determines the role of its users. No test contacts it. */
const corp = providerVariables('corp', {
  DRIVER: 'oauth2',
  CLIENT_ID: 'id',
  CLIENT_SECRET: 'secret',
  AUTHORIZE_URL: 'https://corp.example.com/authorize',
  ACCESS_URL: 'https://corp.example.com/token',
  PROFILE_URL: 'https://corp.example.com/profile',
  LABEL: 'Corp Inc.',
  ROLE_MAPPING: JSON.stringify({ staff: '5c1e7a3e-8f0b-4a8e-9a55-0d6f1b2c3d4e' }),
});
const { service, call, signedIn, read } = await startConsole(t, { AUTH_PROVIDERS: 'corp', ...corp });

/** What the template for a support desk contains. */
const fields = ['id', 'first_name', 'last_name', 'email', 'status', 'role', 'last_access', 'provider', 'tfa_secret'];
const all = ['*'];
const rights = [
  { collection: 'users', action: 'read', fields },
  { collection: 'users', action: 'update', fields: ['first_name', 'last_name', 'status', 'tfa_secret'] },
  { collection: 'roles', action: 'read', fields: ['id', 'name'] },
  { collection: 'activity', action: 'read', fields: all },
  { collection: 'mails', action: 'read', fields: all },
  { collection: 'mails', action: 'update', fields: all },
  { collection: 'sessions', action: 'read', fields: all },
  { collection: 'sessions', action: 'delete', fields: all },
];
const { id: policy } = await call('POST', '/policies', { name: 'Help', app_access: true });
for (const right of rights) await call('POST', '/permissions', { policy, ...right });
const { id: support } = await call('POST', '/roles', { name: 'Support', policies: [policy] });
const { id: customer } = await call('POST', '/roles', { name: 'Customer' });
const person = async (first_name: string, role: unknown, status = 'active') => {
  const values = { first_name, last_name: 'Example', email: `${first_name}@example.com`, password: userPassword };
  return { ...values, id: String((await call('POST', '/users', { ...values, role, status })).id) };
};
const staff = await person('Sam', support);
const member = await person('Mia', customer);
const ada = await person('Ada', customer);
await person('Ian', customer, 'invited');
const { id: client } = await call('POST', '/clients', {
  name: 'Shop',
  type: 'public',
  redirect_uris: ['https://shop.example.com/callback'],
});
await call('POST', '/resources', { identifier: 'https://api.example.com/', name: 'Orders', scopes: ['orders:read'] });

/** Waits until a screen shows what it has loaded. */
async function settle({ page }: Pick<Person, 'page'>) {
  await page.locator('#content h1, #content .empty-state, form').first().waitFor();
  await page.waitForLoadState('networkidle');
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
}

const places = {
  '/overview': 'Overview',
  '/users': 'Users',
  [`/users/${ada.id}`]: 'Ada Example',
  [`/users/${ada.id}/security`]: 'Ada Example',
  [`/users/${ada.id}/access`]: 'Ada Example',
  [`/users/${ada.id}/applications`]: 'Ada Example',
  [`/users/${ada.id}/emails`]: 'Ada Example',
  [`/users/${ada.id}/history`]: 'Ada Example',
  '/invitations': 'Invitations',
  '/applications': 'Applications',
  [`/applications/${client}`]: 'Shop',
  '/apis': 'APIs',
  '/activity': 'Activity',
  '/emails': 'Emails',
  '/settings': 'Settings',
  '/roles': 'Roles',
  '/policies': 'Policies',
  '/simulator': 'Simulator',
};

/** What the support desk and a member may open. */
const openTo = {
  desk: new Set(
    Object.keys(places).filter(
      (path) => path.startsWith('/users/') || !/applications|apis|settings|policies|simulator/.test(path),
    ),
  ),
  member: new Set<string>(),
};
const withoutScreen = /This screen does not exist/;

async function opensEverything(t: Test, who: keyof typeof openTo | 'administrator') {
  const user = { administrator, desk: staff, member }[who];
  const visitor = await signedIn(user);
  const refused: string[] = [];
  visitor.page.on('response', (response) => {
    const { pathname } = new URL(response.url());
    if (response.status() >= 400) refused.push(`${response.status()} ${pathname}`);
  });
  for (const [path, heading] of Object.entries(places)) {
    await visitor.open(`/console${path}`);
    await settle(visitor);
    const isOpen = who === 'administrator' || openTo[who].has(path);
    const found = await visitor.page.getByRole('heading', { name: heading, level: 1, exact: true }).count();
    t.equal(found, isOpen ? 1 : 0, `${who}: ${path}`);
    if (!isOpen) t.match(await visitor.page.locator('#content').innerText(), withoutScreen, `${who}: ${path}`);
  }
  t.strictSame(refused, [], `${who}: the API refuses nothing that a screen reads`);
  t.strictSame(visitor.complaints(), [], who);
}

t.test('an administrator opens every screen', (t) => opensEverything(t, 'administrator'));
t.test('a support desk opens some screens, none of which asks for more than it may read', (t) =>
  opensEverything(t, 'desk'),
);

t.test('the code of the other screens is loaded in the background, before anybody opens them', async (t) => {
  const { page, open } = await signedIn();
  const scripts: string[] = [];
  await open('/console/emails');
  await page.waitForLoadState('networkidle');
  page.on('request', (request) => request.resourceType() === 'script' && scripts.push(request.url()));
  await page.getByRole('link', { name: 'Policies' }).press('Enter');
  await page.getByRole('heading', { name: 'Policies', level: 1 }).waitFor();
  t.strictSame(scripts, []);
});

t.test('a member opens none', (t) => opensEverything(t, 'member'));

t.test('without a session, every screen leads to the login page, and from there back', async (t) => {
  const visitor = await signedIn(null);
  for (const path of Object.keys(places)) {
    await visitor.open(`/console${path}`);
    await visitor.page.waitForURL(/\/account\/login/);
  }
  await visitor.page.getByLabel('Email address').fill(administrator.email);
  await visitor.page.getByLabel('Password', { exact: true }).fill(administrator.password);
  await visitor.page.getByRole('button', { name: 'Sign in' }).click();
  await visitor.page.waitForURL(/\/console\/simulator/);
  t.pass();
});

t.test('a support desk finds out why a user cannot sign in, and helps', async (t) => {
  const { id, email } = await createUser(service.app, { role: String(customer), tfa: true });
  await call('PATCH', '/settings', { auth_login_attempts: 2 });
  for (let attempt = 0; attempt < 2; attempt++) await service.post('/auth/login', { email, password: 'wrong' });
  const desk = await signedIn(staff);
  const { page } = desk;
  const card = page.locator('section, article', { hasText: 'Sign-in problems' }).last();
  const confirm = async (action: string) =>
    page.getByRole('alertdialog').getByRole('button', { name: action }).press('Enter');
  const choose = async (action: string) => {
    await page.getByRole('button', { name: 'Actions' }).press('Enter');
    await page.getByRole('menuitem', { name: action }).press('Enter');
    await confirm(action);
  };
  await desk.open(`/console/users?q=${encodeURIComponent(email)}`);
  await page.locator(`[data-row="${id}"]`).getByText('Sign-in is locked').waitFor();
  await desk.open(`/console/users/${id}`);
  await card.getByText('Sign-in is locked').waitFor();
  await page.locator('header', { hasText: email }).getByText('Sign-in is locked').waitFor();
  await card.getByText(/Last failed sign-in/).waitFor();
  await card.getByRole('button', { name: 'Unlock sign-in' }).press('Enter');
  await confirm('Unlock sign-in');
  await page.getByText(/can try to sign in again/).waitFor();
  await card.getByText('Sign-in is locked').waitFor({ state: 'detached' });

  await page.getByRole('link', { name: 'Security' }).press('Enter');
  await page.getByRole('button', { name: 'Reset' }).waitFor();
  await page.getByRole('button', { name: 'Actions' }).press('Enter');
  await page.getByRole('menuitem', { name: 'Reset two-factor authentication' }).press('Enter');
  await confirm('Reset');
  await page.getByText(/^Two-factor authentication for .* was reset/).waitFor();
  t.equal((await storedUser(service.app, id)).tfaSecret, null);

  await choose('Suspend');
  await page
    .getByText(/Suspended/)
    .first()
    .waitFor();
  t.equal((await storedUser(service.app, id)).status, 'suspended');
  t.strictSame(desk.complaints(), []);
});

t.test('each problem of a sign-in comes with what solves it, and a question does not outlive its screen', async (t) => {
  const visitor = await signedIn();
  const { page } = visitor;
  const card = page.getByRole('region', { name: 'Sign-in problems' });
  const question = page.getByRole('alertdialog');
  for (const [values, button] of [
    [{ status: 'invited' }, 'Resend invitation'],
    [{ status: 'suspended' }, 'Activate'],
    [{ status: 'active', password: null }, 'Send password reset link'],
  ] as const) {
    const { id } = await createUser(service.app, { role: String(customer), ...values });
    await visitor.open('/console/users');
    await visitor.open(`/console/users/${id}`);
    await card.getByRole('button', { name: button }).press('Enter');
    await question.getByRole('button', { name: button }).waitFor();
    t.notMatch(await question.innerText(), 'current password');
    await page.keyboard.press('Control+k');
    t.equal(await page.getByRole('dialog').count(), 0, 'the palette does not open in front of a question');
    await page.goBack();
    await question.waitFor({ state: 'detached' });
  }
  t.strictSame(visitor.complaints(), []);
});

t.test('a lock that has ended is no longer shown', async (t) => {
  const { id, email } = await createUser(service.app);
  await call('PATCH', '/settings', { auth_login_attempts: 1 });
  await service.post('/auth/login', { email, password: 'wrong' });
  const desk = await signedIn(staff);
  await desk.page.clock.install();
  await desk.open(`/console/users/${id}`);
  const badge = desk.page.locator('header', { hasText: email }).getByText('Sign-in is locked');
  await badge.waitFor();
  await call('POST', `/users/${id}/unlock`, {});
  await desk.page.clock.fastForward('10:00');
  await badge.waitFor({ state: 'detached' });
  t.strictSame(desk.complaints(), []);
});

t.test('an empty list of policies or rules says that the visitor may not see all of them', async (t) => {
  const { id: open } = await call('POST', '/policies', { name: 'Open' });
  await call('POST', '/permissions', { policy: open, collection: 'roles', action: 'read', fields: ['id'] });
  const { id: partial } = await call('POST', '/policies', { name: 'Partial', app_access: true });
  for (const [collection, permissions] of [
    ['roles', {}],
    ['policies', { name: { _eq: 'Open' } }],
    ['permissions', { collection: { _eq: 'users' } }],
  ] as const) {
    await call('POST', '/permissions', { policy: partial, collection, action: 'read', fields: all, permissions });
  }
  const { id: auditors } = await call('POST', '/roles', { name: 'Auditors', policies: [partial] });
  const { id: visitors } = await call('POST', '/roles', { name: 'Visitors', policies: [open] });

  const desk = await signedIn(staff);
  await desk.open(`/console/roles/${support}`);
  await desk.page.getByText('No policies that you can read').waitFor();
  t.strictSame(desk.complaints(), []);

  const auditor = await signedIn(await person('Pia', auditors));
  for (const [path, text] of [
    [`/roles/${support}`, 'No policies that you can read'],
    [`/roles/${visitors}`, 'No rules that you can read'],
    [`/policies/${open}`, 'No rules that you can read'],
  ] as const) {
    await auditor.open(`/console${path}`);
    await auditor.page.getByText(text).waitFor();
  }
  t.strictSame(auditor.complaints(), []);

  const owner = await signedIn();
  await owner.open(`/console/roles/${customer}`);
  await owner.page.getByText('This role allows nothing yet').waitFor();
  t.strictSame(owner.complaints(), []);
});

t.test('an empty field says that its value may be hidden from the support desk', async (t) => {
  const desk = await signedIn(staff);
  await desk.open(`/console/users/${ada.id}`);
  const location = desk.page.getByLabel('Location');
  await location.waitFor();
  t.equal(await location.getAttribute('placeholder'), 'Not set, or not visible to you');
  await desk.open(`/console/users/${staff.id}`);
  await location.waitFor();
  t.equal(await location.getAttribute('placeholder'), null, 'their own');
  t.strictSame(desk.complaints(), []);
});

t.test('a support desk sees an administrator, but no control that the API would refuse', async (t) => {
  const desk = await signedIn(staff);
  const { page } = desk;
  const { id } = await read(await signedIn(), '/users/me');
  await desk.open(`/console/users/${id}`);
  await settle(desk);
  await page.getByRole('button', { name: 'Actions' }).press('Enter');
  t.strictSame(await page.getByRole('menuitem').allInnerTexts(), ['Send password reset link'], 'what anybody can do');
  await page.keyboard.press('Escape');
  t.equal(await page.locator('#content form :enabled:is(input, select, textarea)').count(), 0);
  t.equal(await page.getByRole('button', { name: 'Save' }).count(), 0);
  await desk.open(`/console/users/${id}/security`);
  await settle(desk);
  t.strictSame(
    await page.locator('#content').getByRole('button').allInnerTexts(),
    ['', 'Actions'],
    'one copies the ID, and nothing changes how the user signs in',
  );
  t.strictSame(desk.complaints(), []);
});

const link = (user: string, provider: string, email: string | null = null, isPrimary = false) =>
  service.app.db
    .insert(identities)
    .values({ user, provider, identifier: `${provider}-4711`, email, isPrimary, createdAt: new Date() });

t.test('an administrator unlinks an account of a user', async (t) => {
  const { app } = service;
  const { id } = await createUser(app, { role: String(customer), firstName: 'Lin', lastName: 'Linked' });
  await link(id, 'github', 'lin@example.com');
  await link(id, 'google');
  const visitor = await signedIn();
  const { page } = visitor;
  await visitor.open(`/console/users/${id}/security`);
  const card = page.getByRole('region', { name: 'Linked accounts' });
  await card.getByText('lin@example.com').waitFor();
  t.match(await card.innerText(), /github-4711[\s\S]*Last used Never[\s\S]*google-4711/);
  await settle(visitor);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await saveScreenshot(visitor, `console-linked-accounts-${colorScheme}`);
  }
  const unlink = card.getByRole('listitem').filter({ hasText: 'github-4711' }).getByRole('button', { name: 'Unlink' });
  await unlink.press('Enter');
  const dialog = page.getByRole('alertdialog');
  await dialog.getByText('Unlink the github account “lin@example.com”?').waitFor();
  await dialog.getByText('Lin Linked can no longer sign in with it').waitFor();
  t.equal(await app.db.$count(identities, eq(identities.user, id)), 2, 'nothing is unlinked yet');
  await saveScreenshot(visitor, 'console-linked-accounts-dialog');
  await dialog.getByRole('button', { name: 'Unlink' }).press('Enter');
  await page.getByText('The github account “lin@example.com” was unlinked.').waitFor();
  await unlink.waitFor({ state: 'detached' });
  t.match(await card.innerText(), 'google-4711', 'the other one is still linked');
  t.strictSame(await app.db.select({ provider: identities.provider }).from(identities).where(eq(identities.user, id)), [
    { provider: 'google' },
  ]);
  t.strictSame(visitor.complaints(), []);
});

t.test('no account is unlinked if a provider determines the role of its user', async (t) => {
  const { id } = await createUser(service.app, { firstName: 'Max', lastName: 'Managed', provider: 'corp' });
  await link(id, 'corp', null, true);
  await link(id, 'github');
  const visitor = await signedIn();
  await visitor.open(`/console/users/${id}/security`);
  const card = visitor.page.getByRole('region', { name: 'Linked accounts' });
  await card.getByText('github-4711').waitFor();
  t.match(await card.innerText(), 'Corp Inc. determines this user’s role, so the accounts cannot be unlinked.');
  t.equal(await card.getByRole('button').count(), 0);
  t.strictSame(visitor.complaints(), []);
});

t.test('a support desk sees what was sent to a user, and sends what failed again', async (t) => {
  const { app } = service;
  const { id } = await createUser(app, { role: String(customer), firstName: 'Eva', lastName: 'Example' });
  const url = `${app.config.PUBLIC_URL}/account/`;
  for (const user of [id, ada.id]) await app.mail.enqueue(app.db, { kind: 'invite', user, url, invitedBy: null });
  const queue = sql.identifier(app.databaseConnection.schemas.queue);
  await app.db.execute(
    sql`update ${queue}.job set state = 'failed', output = '{"reason": "The mail server is down."}' where data ->> 'user' = ${id}`,
  );
  const desk = await signedIn(staff);
  const { page } = desk;
  await desk.open(`/console/users/${id}`);
  await page.getByRole('navigation', { name: 'Eva Example' }).getByRole('link', { name: 'Emails' }).press('Enter');
  const row = page.getByRole('table', { name: 'Emails' }).getByRole('row').nth(1);
  await row.getByText('The mail server is down.').waitFor();
  await settle(desk);
  t.equal(await page.locator('[data-row]').count(), 1, 'not the email to another user');
  for (const [name, width, colorScheme] of [
    ['light', 1280, 'light'],
    ['dark', 1280, 'dark'],
    ['phone', 320, 'light'],
  ] as const) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    await saveScreenshot(desk, `console-user-emails-${name}`);
  }
  // On a phone, the table is a list.
  await page.setViewportSize({ width: 1280, height: 900 });
  await row.getByRole('button', { name: 'Send again' }).press('Enter');
  await page.getByText('The email to Eva Example is queued again.').waitFor();
  await row.getByRole('button', { name: 'Send again' }).waitFor({ state: 'detached' });

  const { id: administratorId } = await read(await signedIn(), '/users/me');
  await desk.open(`/console/users/${administratorId}/emails`);
  await page.getByText('You see only emails to users who have the same permissions as you, or fewer.').waitFor();
  await desk.open(`/console/users/${id}/security`);
  await settle(desk);
  t.equal(await page.getByRole('heading', { name: 'Linked accounts' }).count(), 0);
  t.strictSame(desk.complaints(), []);
});

t.test('what a rule of a permission does not include has no button', async (t) => {
  const read = (collection: string) => ({ collection, action: 'read', fields: all });
  const rules = [
    ...['users', 'mails', 'sessions'].map(read),
    { collection: 'mails', action: 'update', fields: all, permissions: { kind: { _eq: 'invite' } } },
    { collection: 'sessions', action: 'delete', permissions: { address: { _eq: '198.51.100.7' } } },
  ];
  const { id: rights } = await call('POST', '/policies', { name: 'Some', app_access: true });
  for (const rule of rules) await call('POST', '/permissions', { policy: rights, ...rule });
  const { id: role } = await call('POST', '/roles', { name: 'Some', policies: [rights] });
  const helper = await person('Hal', role);
  const { id } = await person('Una', customer);
  const { app } = service;
  for (const ip of ['198.51.100.7', '198.51.100.8']) {
    await openSession(app, id);
    await app.db
      .update(sessions)
      .set({ ip })
      .where(and(eq(sessions.user, id), isNull(sessions.ip)));
  }
  const url = `${app.config.PUBLIC_URL}/account/`;
  await app.mail.enqueue(app.db, { kind: 'invite', user: id, url, invitedBy: null });
  await app.mail.enqueue(app.db, { kind: 'account_exists', user: id });
  const queue = sql.identifier(app.databaseConnection.schemas.queue);
  await app.db.execute(sql`update ${queue}.job set state = 'failed', output = '{}' where data ->> 'user' = ${id}`);

  const desk = await signedIn(helper);
  const { page } = desk;
  await desk.open(`/console/users/${id}/security`);
  const lines = page.locator('.line', { hasText: '198.51.100.' });
  await lines.nth(1).waitFor();
  t.equal(await page.getByRole('button', { name: 'Sign out everywhere' }).count(), 0);
  t.equal(await lines.getByRole('button', { name: 'Sign out' }).count(), 1);
  await lines.filter({ hasText: '198.51.100.7' }).getByRole('button', { name: 'Sign out' }).press('Enter');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Sign out' }).press('Enter');
  await lines.filter({ hasText: '198.51.100.7' }).waitFor({ state: 'detached' });
  await desk.open(`/console/users/${id}/emails`);
  await page.locator('[data-row]').nth(1).waitFor();
  await page.getByRole('button', { name: 'Send again' }).press('Enter');
  await page.getByRole('button', { name: 'Send again' }).waitFor({ state: 'detached' });
  t.strictSame(desk.complaints(), []);

  const { id: blind } = await call('POST', '/policies', { name: 'Without IDs', app_access: true });
  for (const right of [
    { collection: 'users', action: 'read', fields: all },
    { collection: 'sessions', action: 'read', fields: ['address'] },
    { collection: 'sessions', action: 'delete' },
  ])
    await call('POST', '/permissions', { policy: blind, ...right });
  const { id: blindRole } = await call('POST', '/roles', { name: 'Without IDs', policies: [blind] });
  const other = await signedIn(await person('Bea', blindRole));
  await other.open(`/console/users/${id}/security`);
  await other.page.locator('.line', { hasText: '198.51.100.8' }).waitFor();
  t.equal(await other.page.getByRole('button', { name: 'Sign out', exact: true }).count(), 0, 'the API needs an ID');
  t.strictSame(other.complaints(), []);
});

t.test('a rule decides for each user what has a button', async (t) => {
  const rights = [
    ...['users', 'roles', 'policies'].map((collection) => ({ collection, action: 'read', fields: all })),
    { collection: 'users', action: 'update', fields: ['title'], permissions: { title: { _eq: 'Temp' } } },
    { collection: 'users', action: 'delete', permissions: { title: { _eq: 'Temp' } } },
    ...['roles', 'policies'].map((collection) => ({
      ...{ collection, action: 'update', fields: ['description'] },
      permissions: { name: { _starts_with: 'Open' } },
    })),
  ];
  const { id: rule } = await call('POST', '/policies', { name: 'Rules', app_access: true });
  for (const right of rights) await call('POST', '/permissions', { policy: rule, ...right });
  const { id: role } = await call('POST', '/roles', { name: 'Rules', policies: [rule] });
  const helper = await signedIn(await person('Rudi', role));
  const { page, open } = helper;
  const ids = async (path: string, bodies: object[]) =>
    Promise.all(bodies.map(async (body) => String((await call('POST', path, body)).id)));
  const [temp, other] = await ids('/users', [
    { email: 'temp@example.com', title: 'Temp', role: customer },
    { email: 'fixed@example.com', title: 'Fixed', role: customer },
  ]);
  const [openRole] = await ids('/roles', [{ name: 'Open role' }]);
  const [openPolicy] = await ids('/policies', [{ name: 'Open policy' }]);

  /** Whether a user can be edited and deleted. */
  const offered = async (id: string | undefined) => {
    await open(`/console/users/${id}`);
    await settle(helper);
    await page.getByRole('button', { name: 'Actions' }).press('Enter');
    const actions = await page.getByRole('menuitem').allInnerTexts();
    await page.keyboard.press('Escape');
    return [await page.getByLabel('Title').isEnabled(), actions.includes('Delete user')];
  };
  t.strictSame(await offered(other), [false, false]);
  t.strictSame(await offered(temp), [true, true]);
  for (const path of [`/roles/${openRole}`, `/policies/${openPolicy}`]) {
    await open(`/console${path}`);
    await settle(helper);
    t.equal(await page.getByRole('button', { name: 'Edit', exact: true }).count(), 0, 'the API cannot try this out');
  }
  await open(`/console/users/${temp}`);
  await page.getByRole('button', { name: 'Actions' }).press('Enter');
  await page.getByRole('menuitem', { name: 'Delete user' }).press('Enter');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete user' }).press('Enter');
  await page.getByRole('heading', { name: 'Users', level: 1 }).waitFor();
  t.strictSame(
    helper.complaints().filter((text) => !text.includes('403')),
    [],
  );
});

t.test('a user is found, suspended, and activated again without a mouse', async (t) => {
  const { page, open, complaints } = await signedIn();
  const { keyboard } = page;
  /** Presses Tab until the control with this text has the focus. */
  const tabTo = async (text: string) => {
    for (let presses = 0; presses < 60; presses++) {
      if ((await page.evaluate('document.activeElement?.innerText?.trim()')) === text) return;
      await keyboard.press('Tab');
    }
    t.fail(`the Tab key does not reach "${text}"`);
  };
  await open('/console/roles');
  await page.getByRole('heading', { name: 'Roles', level: 1 }).waitFor();
  await keyboard.press('Control+k');
  await page.getByRole('dialog').getByRole('combobox').and(page.locator(':focus')).waitFor();
  await keyboard.type('Mia Example');
  await page.getByRole('option', { name: /Mia Example/ }).waitFor();
  await keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Mia Example', level: 1 }).waitFor();
  await tabTo('Actions');
  await keyboard.press('Enter');
  for (let presses = 0; presses < 5; presses++) {
    if ((await page.evaluate('document.activeElement?.innerText?.trim()')) === 'Suspend') break;
    await keyboard.press('ArrowDown');
  }
  await keyboard.press('Enter');
  await page.getByRole('alertdialog').waitFor();
  await tabTo('Suspend');
  await keyboard.press('Enter');
  await page
    .getByRole('status')
    .getByText(/Mia Example/)
    .waitFor();
  t.equal((await storedUser(service.app, member.id)).status, 'suspended');
  await tabTo('Undo');
  await keyboard.press('Enter');
  await page.getByText('Suspended').first().waitFor({ state: 'detached' });
  t.equal((await storedUser(service.app, member.id)).status, 'active');
  await keyboard.press('g');
  await keyboard.press('p');
  await page.getByRole('heading', { name: 'Policies', level: 1 }).waitFor();
  t.strictSame(complaints(), []);
});

t.test('a menu and a dialog take the next key, even before they are drawn', async (t) => {
  const { page, open } = await signedIn();
  await open(`/console/users/${ada.id}`);
  await page.getByRole('button', { name: 'Actions' }).waitFor();
  /** What has the focus directly after an action. */
  const focusedAfter = (act: string) =>
    page.evaluate(`(async () => { ${act}; await null; return document.activeElement.getAttribute('role'); })()`);
  t.equal(await focusedAfter(`document.querySelector('#content [aria-haspopup=menu]').click()`), 'menuitem');
  await page.keyboard.press('Escape');
  const shortcut = `new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true })`;
  t.equal(await focusedAfter(`document.body.dispatchEvent(${shortcut})`), 'combobox');
  await page.keyboard.press('Escape');
});

t.test('the statistics name the days in UTC, in any time zone, and do not invent numbers', async (t) => {
  const { page, open, complaints } = await signedIn(administrator, { timezoneId: 'America/New_York' });
  await open('/console/overview?interval=month');
  const months = page.getByRole('table', { name: 'Active users' }).getByRole('row');
  await months.nth(1).waitFor();
  const rows = (await months.allInnerTexts()).slice(1);
  t.equal(rows.length, 12);
  for (const row of rows) t.match(row, /^\w{3} 1, \d{4}/);
  t.match(rows[0], /–$/, 'nothing was counted so long ago');
  t.strictSame(complaints(), []);
});

t.test('on a phone, the actions are on the screen', async (t) => {
  const { page, open } = await signedIn(administrator, { viewport: { width: 320, height: 700 } });
  await open(`/console/users/${ada.id}`);
  await page.getByRole('button', { name: 'Actions' }).press('Enter');
  const boxes = await Promise.all((await page.getByRole('menuitem').all()).map((item) => item.boundingBox()));
  t.ok(boxes.length > 2);
  for (const box of boxes) t.ok(box && box.x >= 0 && box.x + box.width <= 320 && box.y + box.height <= 700);
});

t.test('the screens are accessible in light and dark, and fit small and large screens', async (t) => {
  const visitor = await signedIn(administrator, { bypassCSP: true, viewport: { width: 320, height: 700 } });
  const { page } = visitor;
  for (const path of Object.keys(places)) {
    for (const width of [320, 2_560]) {
      await page.setViewportSize({ width, height: 900 });
      await visitor.open(`/console${path}`);
      await settle(visitor);
      t.equal(await page.evaluate('document.documentElement.scrollWidth'), width, `${width} px: ${path}`);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        t.strictSame(await accessibilityViolations(visitor), [], `axe, ${colorScheme}, ${width} px: ${path}`);
        await saveScreenshot(visitor, `console-screens-${colorScheme}-${width}${path.replaceAll(/\W+/g, '-')}`);
      }
    }
  }
  t.strictSame(visitor.complaints(), []);
});

t.test('an administrator verifies the audit log, and sees that it was altered', async (t) => {
  const visitor = await signedIn(administrator);
  const { page } = visitor;
  await visitor.open('/console/activity');
  const verify = async () => {
    await page.getByRole('button', { name: 'Verify' }).first().press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Verify' }).press('Enter');
  };
  const result = page.getByRole('dialog').getByRole('status');
  await verify();
  await result.getByText('The audit log is intact.').waitFor();
  t.match(await result.innerText(), /\d+:[\w-]{8}\.[\w-]{43}/, 'the code to store');
  t.strictSame(await accessibilityViolations(visitor), []);
  await saveScreenshot(visitor, 'console-verification');
  await page.keyboard.press('Escape');

  const { app } = service;
  const [{ id } = { id: '' }] = await app.db.select({ id: activity.id }).from(activity).limit(1);
  await app.db.update(activity).set({ ip: '192.0.2.77' }).where(eq(activity.id, id));
  await verify();
  await result.getByText('The audit log was altered or is incomplete.').waitFor();
  t.match(await result.innerText(), /was altered/);
});
