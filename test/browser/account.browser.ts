import { readFileSync } from 'node:fs';
import t from 'tap';
import {
  accessibilityViolations,
  changeFirstName,
  cookiesOf,
  focused,
  newPerson,
  nextFrames,
  openDialog,
  openSection,
  ownEmail,
  type Person,
  saveScreenshot,
  signIn,
  startBrowser,
  waitForOwnAccount,
} from '../helpers/browser/browser.js';
import { freePort } from '../helpers/servers/ports.js';
import { createHome, startService } from '../helpers/service/service.js';
import { administrator } from '../helpers/users/credentials.js';
import { asAdministrator, createUserOverHttp, type User, variables } from '../helpers/users/over-http.js';

const port = await freePort();
const service = await startService(await createHome(t, { prepared: true }), {
  ...variables,
  // Applications sign users in at this URL.
  PUBLIC_URL: `http://127.0.0.1:${port}`,
  PORT: String(port),
  // An IP address cannot have passkeys.
  AUTH_PASSKEYS: 'false',
});
const browser = await startBrowser(t);

const everything = ['first_name', 'last_name', 'language', 'password'];

async function signedIn(user: User) {
  const person = await newPerson(browser, service);
  await signIn(person, user.email, user.password);
  await waitForOwnAccount(person);
  return person;
}

t.test('users change their names', async (t) => {
  const person = await signedIn(await createUserOverHttp(service, { canChange: everything }));
  const { page } = person;
  await openDialog(person, 'profile', 'profile');
  await page.getByLabel('First name').fill('Ada');
  await page.getByLabel('Last name').fill('<b>Lovelace</b>');
  await page.getByRole('button', { name: 'Save' }).click();
  t.equal(await person.said('status'), 'Saved.');
  t.equal(await page.locator('dialog[open]').count(), 0);
  t.equal(await page.locator('[data-name-value]').textContent(), 'Ada <b>Lovelace</b>');
  t.equal(await page.locator('[data-initials]').textContent(), 'A<');
  await person.open('/account');
  await waitForOwnAccount(person);
  await openDialog(person, 'profile', 'profile');
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
  const user = await createUserOverHttp(service, { canChange: everything });
  const person = await signedIn(user);
  await openDialog(person, 'profile', 'language');
  await person.page.locator('#language-choice').selectOption('Français');
  await person.page.getByRole('button', { name: 'Save' }).click();
  await person.page.getByRole('heading', { name: 'Profil', exact: true }).waitFor();
  const later = await signedIn(user);
  await later.page.getByRole('heading', { name: 'Profil', exact: true }).waitFor();
  t.strictSame([...person.complaints(), ...later.complaints()], []);
});

t.test('changing the password ends all other sessions of the user', async (t) => {
  const user = await createUserOverHttp(service, { canChange: everything });
  const [person, elsewhere] = [await signedIn(user), await signedIn(user)];
  const change = async (password: string) => {
    await person.page.getByLabel('New password').fill(password);
    await person.page.getByRole('button', { name: 'Change password', exact: true }).click();
  };
  await openDialog(person, 'security', 'password');
  await change('short');
  t.equal(await person.said('fault'), 'Use at least 8 characters.');
  await change('another good password');
  t.match(await person.said('status'), 'Password changed.');
  await nextFrames(person);
  t.equal(await person.page.locator('#new-password').inputValue(), '');
  await person.open('/account');
  await waitForOwnAccount(person);
  t.strictSame(person.complaints(), []);

  await changeFirstName(elsewhere, 'Eve');
  await elsewhere.page.waitForURL(/\/account\/login\?redirect=/);
  await signIn(elsewhere, user.email, user.password);
  t.match(await elsewhere.said('alert'), 'incorrect');
  await signIn(elsewhere, user.email, 'another good password');
  await waitForOwnAccount(elsewhere);
});

t.test('while users type a new password, the page says whether it is accepted and how strong it is', async (t) => {
  const person = await signedIn(await createUserOverHttp(service, { canChange: everything }));
  const { page } = person;
  const strength = page.getByRole('meter', { name: 'Password strength' });
  await openDialog(person, 'security', 'password');
  t.equal(await strength.count(), 0);
  await page.getByLabel('New password').pressSequentially('password1');
  await strength.getByText('Too weak').waitFor();
  t.match(await person.said('fault'), 'easy to guess');
  await page.getByLabel('New password').fill('calm meadow 7');
  await strength.getByText('Good').waitFor();
  t.equal(await page.locator('dialog .fault:not(:empty)').count(), 0);
  await page.getByLabel('New password').fill('a calm meadow in autumn');
  await strength.getByText('Strong').waitFor();
  t.equal(await strength.getAttribute('aria-valuetext'), 'Strong');
  await page.keyboard.press('Escape');
  await openDialog(person, 'security', 'password');
  await nextFrames(person);
  t.equal(await page.getByLabel('New password').inputValue(), '');
  t.equal(await strength.count(), 0);
  t.strictSame(person.complaints(), []);
});

t.test('a password that the service rejects is reported at its field', async (t) => {
  const person = await signedIn(await createUserOverHttp(service, { canChange: everything }));
  const errors = [
    { message: 'x', extensions: { code: 'FAILED_VALIDATION', field: 'password', path: [], type: 'regex' } },
  ];
  await person.page.route('**/users/me/password', (route) => route.fulfill({ status: 400, json: { errors } }));
  await openDialog(person, 'security', 'password');
  await person.page.getByLabel('New password').fill('password1234');
  await person.page.getByRole('button', { name: 'Change password', exact: true }).click();
  await person.page.getByText('does not follow the rules of your organization').waitFor();
  t.equal(await person.page.locator('dialog[open]').count(), 1);
});

t.test('a password can be shown, and is hidden again before it is sent', async (t) => {
  const person = await signedIn(await createUserOverHttp(service, { canChange: everything }));
  const { page } = person;
  await openDialog(person, 'security', 'password');
  const field = page.getByLabel('New password');
  const toggle = page.getByRole('dialog').getByRole('button', { name: 'Show password' });
  await field.fill('x');
  await toggle.click();
  t.equal(await field.getAttribute('type'), 'text');
  t.equal(await toggle.getAttribute('aria-pressed'), 'true');
  await page.getByRole('button', { name: 'Change password', exact: true }).click();
  t.equal(await field.getAttribute('type'), 'password');
});

t.test('members without permissions can view and manage their own account', async (t) => {
  const user = await createUserOverHttp(service);
  const member = await signedIn(user);
  const { page } = member;
  t.equal(await ownEmail(member), user.email);
  await openDialog(member, 'profile', 'profile');
  await page.getByLabel('First name').fill('Ada');
  await page.getByLabel('Last name').fill('Lovelace');
  await page.getByRole('button', { name: 'Save' }).click();
  t.equal(await member.said('status'), 'Saved.');
  await member.open('/account/profile');
  await waitForOwnAccount(member);
  t.equal(await page.locator('[data-name-value]').textContent(), 'Ada Lovelace');
  t.equal(await page.locator('[data-initials]').textContent(), 'AL');
  await openSection(member, 'security');
  await page.getByRole('button', { name: 'Set up Authenticator app' }).waitFor();
  await openSection(member, 'sessions');
  t.equal(await page.locator('[data-sessions] > li').count(), 1);
  t.strictSame(member.complaints(), []);
});

/** Creates an application, and lets a user allow its access. @returns what the page that asks for consent says */
async function allowAccess(
  { page }: Person,
  values: { name: string; resources?: string[] } & Record<string, unknown>,
  scope: string,
): Promise<string[]> {
  // It only has to respond.
  const redirectUri = `${service.url}/server/ping`;
  const call = await asAdministrator(service);
  const client = await call('POST', '/clients', { type: 'public', redirect_uris: [redirectUri], ...values });
  const query = new URLSearchParams({
    ...{ client_id: String(client.id), redirect_uri: redirectUri, response_type: 'code', scope },
    ...{ code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' },
  });
  for (const resource of values.resources ?? []) query.append('resource', resource);
  await page.goto(`/oauth/authorize?${query}`);
  const access = page.locator('[data-access] > li');
  await access.first().waitFor();
  const lines = await access.allTextContents();
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.waitForURL(/\/server\/ping\?code=/);
  return lines;
}

t.test('users see which applications have access and what they may do, and can withdraw it', async (t) => {
  const person = await signedIn(await createUserOverHttp(service));
  const { page } = person;
  const section = page.locator('[data-panel=applications]');
  await openSection(person, 'applications');
  await section.getByRole('heading', { name: 'No application has access' }).waitFor();
  t.equal(await section.getByRole('button').count(), 0);

  const call = await asAdministrator(service);
  for (const [name, scopes] of Object.entries({ Calendar: ['calendar:read'], Search: [] }))
    await call('POST', '/resources', { identifier: `https://${name}.example.com`, name, scopes });
  const logo = 'https://cdn.example.com/notes.svg';
  const image = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><rect width="20" height="20"/></svg>';
  await page.route(logo, (route) => route.fulfill({ contentType: 'image/svg+xml', body: image }));
  const own = ['openid', 'users:read', 'roles:*'];
  t.strictSame(await allowAccess(person, { name: '<b>Photos</b>', scopes: own }, own.join(' ')), [
    'recognize you when you sign in',
    'see users on your behalf',
    'see, create, change, and delete roles on your behalf',
  ]);
  const resources = ['https://Calendar.example.com', 'https://Search.example.com'];
  const scope = 'openid profile email roles groups offline_access calendar:read';
  const asked = await allowAccess(person, { name: 'Notes', logo_uri: logo, resources }, scope);
  person.complaints();

  await person.open('/account/applications');
  await waitForOwnAccount(person);
  const items = section.locator('[data-applications] > li');
  t.strictSame(await items.getByRole('heading').allTextContents(), ['Notes', '<b>Photos</b>']);
  t.strictSame(await items.first().locator('[data-access] > li').allTextContents(), asked, 'as when they allowed it');
  t.match(await items.first().innerText(), /Allowed .+ · not used yet/);
  await page.waitForFunction(`document.querySelector('[data-logo] img')?.naturalWidth > 0`);
  t.equal(await items.last().locator('[data-logo]').textContent(), '<', 'the first letter instead of a logo');
  t.strictSame(person.complaints(), ['a request to https://cdn.example.com']);

  await items.first().getByRole('button', { name: 'Remove access Notes' }).click();
  const question = page.getByRole('alertdialog', { name: 'Remove the access of Notes?' });
  await question.getByRole('button', { name: 'Cancel' }).click();
  t.equal(await items.count(), 2);
  await items.first().getByRole('button').click();
  await question.getByRole('button', { name: 'Remove access' }).click();
  t.equal(await person.said('status'), 'Notes no longer has access to your account.');
  await page.locator('#applications-title:focus').waitFor();
  t.strictSame(await items.getByRole('heading').allTextContents(), ['<b>Photos</b>']);

  const elsewhere = await person.context.newPage();
  await elsewhere.goto('/account/applications');
  await items.getByRole('button').click();
  await elsewhere.locator('[data-withdraw]').click();
  await elsewhere.locator('[data-yes]').click();
  await elsewhere.locator('[data-no-applications]').waitFor();
  await page.locator('[data-yes]').click();
  t.equal(await person.said('alert'), 'That application no longer had access.');
  t.equal(await items.count(), 0);
});

t.test('the list of applications is accessible and fits a phone in every language, light and dark', async (t) => {
  const user = await createUserOverHttp(service);
  await allowAccess(await signedIn(user), { name: 'W'.repeat(60) }, 'openid email offline_access');
  await allowAccess(await signedIn(user), { name: 'Notes' }, 'openid profile email roles');
  for (const colorScheme of ['light', 'dark'] as const) {
    const person = await newPerson(browser, service, {
      ...{ colorScheme, bypassCSP: true, viewport: { width: 320, height: 600 } },
    });
    await signIn(person, user.email, user.password);
    await waitForOwnAccount(person);
    for (const lang of ['de-DE', 'en-US', 'es-ES', 'fr-FR', 'zh-CN']) {
      await person.open(`/account/applications?lang=${lang}`);
      await waitForOwnAccount(person);
      await saveScreenshot(person, `applications-${lang}-${colorScheme}`);
      t.strictSame(await accessibilityViolations(person), [], `${lang} ${colorScheme}`);
      t.equal(await person.page.evaluate('document.documentElement.scrollWidth > 320'), false, lang);
      t.equal(await person.page.locator('[data-panel] :visible', { hasText: /\{|undefined/ }).count(), 0, lang);
    }
  }
});

t.test('users can download their stored data', async (t) => {
  const user = await createUserOverHttp(service);
  const person = await signedIn(user);
  const download = person.page.waitForEvent('download');
  await person.page.getByRole('button', { name: 'Download my data' }).click();
  const file = await download;
  t.equal(file.suggestedFilename(), 'account-data.json');
  t.match(JSON.parse(readFileSync(await file.path(), 'utf8')), { user: { email: user.email } });
  t.strictSame(person.complaints(), []);
});

t.test('users can delete their account if the project allows it', async (t) => {
  const user = await createUserOverHttp(service);
  const before = await signedIn(user);
  t.equal(await before.page.getByRole('button', { name: 'Delete my account' }).count(), 0);
  const call = await asAdministrator(service);
  await call('PATCH', '/settings', { self_deletion: true });
  t.teardown(async () => (await asAdministrator(service))('PATCH', '/settings', { self_deletion: false }));
  const person = await signedIn(user);
  const { page } = person;
  const remove = page.getByRole('button', { name: 'Delete my account' });
  const question = page.getByRole('alertdialog', { name: 'Delete your account?' });
  await remove.click();
  await question.getByText('This cannot be undone.').waitFor();
  t.equal(await page.evaluate('document.activeElement.textContent'), 'Cancel');
  await page.keyboard.press('Enter');
  t.equal(await question.count(), 0);
  t.equal(await page.evaluate('document.activeElement.dataset.delete'), '', 'the focus returns');
  await remove.click();
  await question.getByRole('button', { name: 'Delete my account' }).click();
  t.equal(await person.said('status'), 'Your account has been deleted.');
  t.match(page.url(), /\/account\/login\?notice=deleted/);
  t.strictSame(await cookiesOf(person), []);
  t.strictSame(person.complaints(), []);
  await signIn(person, user.email, user.password);
  t.match(await person.said('alert'), 'incorrect');

  const last = await signedIn(administrator);
  await last.page.getByRole('button', { name: 'Delete my account' }).click();
  await last.page.locator('[data-dialog=question] [data-yes]').click();
  t.match(await last.said('alert'), 'You are the last administrator.');
});

t.test('without self-service, members can manage only how they sign in', async (t) => {
  const call = await asAdministrator(service);
  const user = await createUserOverHttp(service);
  await call('PATCH', '/settings', { self_service: false });
  t.teardown(async () => (await asAdministrator(service))('PATCH', '/settings', { self_service: true }));
  const buttons = async (person: Person) => {
    await openSection(person, 'profile');
    const own = await person.page.locator('[data-panel=profile] button:visible').count();
    await openSection(person, 'security');
    return [own, await person.page.locator('[data-panel=security] button:visible').allTextContents()];
  };
  t.strictSame(await buttons(await signedIn(user)), [0, ['Change', 'Set up']]);
  t.strictSame(await buttons(await signedIn(administrator)), [4, ['Change', 'Set up']]);
});

t.test('users who must set up two-factor authentication first see a notice, and nothing else', async (t) => {
  const person = await signedIn(await createUserOverHttp(service, { canChange: everything, enforceTfa: true }));
  await person.page.getByText('Your account needs two-factor authentication.').waitFor();
  await person.page.getByRole('button', { name: 'Set up Authenticator app' }).waitFor();
  t.equal(await person.page.locator('.sections [data-to]:visible').count(), 1);
  await person.open('/account/profile');
  await waitForOwnAccount(person);
  t.equal(await person.page.locator('[data-panel=profile]').isVisible(), false);
  await person.page.setViewportSize({ width: 390, height: 844 });
  await person.open('/account');
  await waitForOwnAccount(person);
  t.ok(await person.page.locator('[data-must-set-up-tfa]').isVisible(), 'on a phone, too');
  t.equal(await person.page.locator('.back').isVisible(), false, 'there is no list to go back to');
});

t.test('each section has its own URL, and the browser can go back', async (t) => {
  const user = await createUserOverHttp(service);
  const person = await newPerson(browser, service);
  const { page } = person;
  await person.open('/account/security');
  await page.waitForURL(/\/account\/login\?redirect=%2Faccount%2Fsecurity$/);
  await page.getByLabel('Email address').fill(user.email);
  await page.getByLabel('Password', { exact: true }).fill(user.password);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/account\/security$/);
  // Until the script has run, links load the page again.
  await waitForOwnAccount(person);
  const loads: string[] = [];
  page.on('request', (request) => request.isNavigationRequest() && loads.push(request.url()));
  const nav = page.getByRole('navigation', { name: 'Sections' });
  await nav.getByRole('link', { name: 'Sessions' }).click();
  t.equal(await focused(person), 'sessions-title');
  t.match(await page.title(), /^Sessions · /);
  t.equal(await nav.locator('[aria-current=page]').textContent(), 'Sessions');
  await page.goBack();
  await page.getByRole('heading', { name: 'Security' }).waitFor();
  t.strictSame(loads, []);
  t.strictSame(person.complaints(), []);
});

t.test('on a phone, the sections are a list, and each has a link back to it', async (t) => {
  const user = await createUserOverHttp(service);
  const person = await newPerson(browser, service, { viewport: { width: 390, height: 780 } });
  const { page } = person;
  await signIn(person, user.email, user.password);
  await waitForOwnAccount(person);
  await page.getByRole('heading', { name: 'Your account' }).waitFor();
  t.equal(await page.locator('[data-panel]:visible').count(), 0);
  await page.getByRole('link', { name: 'Security' }).click();
  await page.getByRole('heading', { name: 'Security' }).waitFor();
  t.equal(await page.locator('.sections').isVisible(), false);
  t.ok(await page.evaluate('document.documentElement.scrollHeight < 1200'), 'a section fits on about one screen');
  await page.getByRole('link', { name: 'Your account' }).click();
  await page.getByRole('heading', { name: 'Your account' }).waitFor();
  t.strictSame(person.complaints(), []);
});

t.test('a dialog keeps the focus inside, closes with Escape, and returns the focus', async (t) => {
  const person = await signedIn(await createUserOverHttp(service));
  const { page } = person;
  await page.locator('#name-edit').focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Edit profile' }).waitFor();
  const places = new Set<string>();
  for (let steps = 0; steps < 12; steps++) {
    await page.keyboard.press('Tab');
    places.add(
      await page.evaluate('document.activeElement.closest("dialog") ? "dialog" : document.activeElement.tagName'),
    );
  }
  t.strictSame(
    [...places].filter((place) => !['dialog', 'BODY'].includes(place)),
    [],
  );
  await page.getByLabel('First name').fill('Discarded');
  await page.keyboard.press('Escape');
  t.equal(await page.getByRole('dialog').count(), 0);
  t.equal(await focused(person), 'name-edit');
  await page.keyboard.press('Enter');
  await nextFrames(person);
  t.equal(await page.getByLabel('First name').inputValue(), '');
});

t.test('the page refreshes an expired session, but only once', async (t) => {
  const person = await signedIn(await createUserOverHttp(service, { canChange: everything }));
  const errors = [{ message: 'x', extensions: { code: 'TOKEN_EXPIRED' } }];
  const calls: string[] = [];
  let refusals = 1;
  await person.page.route(/\/(users|auth)\//, async (route) => {
    const { pathname } = new URL(route.request().url());
    calls.push(`${route.request().method()} ${pathname}`);
    if (pathname === '/users/me/profile' && refusals-- > 0) await route.fulfill({ status: 401, json: { errors } });
    else await route.continue();
  });
  await changeFirstName(person, 'Ada');
  t.equal(await person.said('status'), 'Saved.');
  t.strictSame(calls, [
    'PATCH /users/me/profile',
    'POST /auth/refresh',
    'PATCH /users/me/profile',
    'GET /users/me/profile',
  ]);

  refusals = 2;
  await changeFirstName(person, 'Grace');
  await person.page.waitForURL(/\/account\/login/);
});
