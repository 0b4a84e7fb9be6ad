import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import t from 'tap';
import {
  accessibilityViolations,
  changeFirstName,
  focused,
  newPerson,
  nextFrames,
  openDialog,
  type Person,
  signIn,
  startBrowser,
  visibleText,
  waitForForm,
  waitForOwnAccount,
} from '../helpers/browser/browser.js';
import { freePort, listen } from '../helpers/servers/ports.js';
import { createHome, startService } from '../helpers/service/service.js';
import { asAdministrator, createUserOverHttp, type User, variables } from '../helpers/users/over-http.js';
import { currentCode, previousCode } from '../helpers/users/totp.js';

const service = await startService(await createHome(t, { prepared: true }), variables);
const browser = await startBrowser(t);
const everything = ['first_name', 'password', 'tfa_secret'];

const button = ({ page }: Person, name: string) => page.getByRole('button', { name, exact: true });

/** Sets up two-factor authentication with the code of the previous time step. @returns the secret */
async function setUp(person: Person, password?: string): Promise<string> {
  const { page } = person;
  await openDialog(person, 'security', 'tfa-setup');
  if (password !== undefined) await page.locator('#tfa-password').fill(password);
  await page.locator('#tfa-begin [type=submit]').click();
  await page.locator('.qr-code svg').waitFor();
  const secret = (await page.locator('[data-secret]').textContent()) ?? '';
  // The form is submitted automatically.
  await page.locator('#tfa-code').fill((await previousCode(secret)).replace(/^.../, '$& '));
  return secret;
}

async function shownCodes({ page }: Person): Promise<string[]> {
  await page.locator('[data-codes] li').nth(9).waitFor();
  return page.locator('[data-codes] li').allTextContents();
}

async function signedIn(user: User, options = {}) {
  const person = await newPerson(browser, service, options);
  await signIn(person, user.email, user.password);
  await waitForOwnAccount(person);
  return person;
}

t.test('users can set up an app on the same device, and type the key in groups of four', async (t) => {
  const user = await createUserOverHttp(service, { canChange: everything });
  const person = await signedIn(user, { viewport: { width: 390, height: 844 } });
  const { page, context } = person;
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await openDialog(person, 'security', 'tfa-setup');
  await page.locator('#tfa-password').fill(user.password);
  await page.locator('#tfa-begin [type=submit]').click();
  await page.locator('.qr-code svg').waitFor();
  const secret = (await page.locator('[data-secret]').textContent()) ?? '';
  const link = page.getByRole('link', { name: 'Open in an app on this device' });
  t.match(await link.getAttribute('href'), new RegExp(`^otpauth://totp/.*secret=${secret}`));
  const groups = await page.locator('[data-secret] span').allTextContents();
  t.equal(groups.join(''), secret);
  for (const group of groups.slice(0, -1)) t.match(group, /^[A-Z2-7]{4}$/);
  await button(person, 'Copy').click();
  await page.getByText('Copied.').waitFor();
  t.equal(await page.evaluate('navigator.clipboard.readText()'), secret, 'without spaces');
  await page.setViewportSize({ width: 1280, height: 800 });
  t.equal(await link.isVisible(), false, 'a desktop browser shows the QR code');
  await page.keyboard.press('Escape');
  await nextFrames(person);
  t.notMatch(await page.content(), secret);
  t.strictSame(person.complaints(), []);
});

t.test('users can turn two-factor authentication on, sign in with it, and turn it off', async (t) => {
  const user = await createUserOverHttp(service, { canChange: everything });
  const person = await signedIn(user, { acceptDownloads: true });
  const { page, context } = person;
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const secret = await setUp(person, user.password);
  const codes = await shownCodes(person);
  t.equal(codes.length, 10, 'the codes appear automatically, because the password was just entered');
  t.match(codes[0], /^(\w{4}-){3}\w{4}$/);
  t.match(await person.said('status'), 'is on.');
  t.equal(await page.evaluate('document.activeElement.textContent'), 'Recovery codes');
  t.equal(await button(person, 'Done').isDisabled(), true, 'the codes cannot be confirmed before they are saved');
  await button(person, 'Copy').click();
  await page.getByText('Copied.').waitFor();
  t.equal(await button(person, 'Done').isDisabled(), false);
  t.equal(await page.evaluate('navigator.clipboard.readText()'), codes.join('\n'));
  const download = page.waitForEvent('download');
  await button(person, 'Download').click();
  const file = await download;
  t.equal(file.suggestedFilename(), 'recovery-codes.txt');
  t.equal(readFileSync(await file.path(), 'utf8'), `${codes.join('\n')}\n`);
  await person.page.getByLabel('I have saved these codes').check();
  await button(person, 'Done').click();
  await button(person, 'Turn off Authenticator app').waitFor();
  await nextFrames(person);
  t.notMatch(await page.content(), codes[0] ?? '', 'the codes are removed from the page');
  t.notMatch(await page.content(), secret);
  await person.open('/account/security');
  await waitForOwnAccount(person);
  await button(person, 'Turn off Authenticator app').waitFor();
  await page.getByText('10 left').waitFor();
  t.strictSame(person.complaints(), []);

  const later = await newPerson(browser, service);
  await signIn(later, user.email, user.password);
  await later.page.getByLabel('Code from your authenticator app').fill(currentCode(secret));
  await waitForOwnAccount(later);

  const lost = await newPerson(browser, service);
  const field = lost.page.locator('#otp');
  await signIn(lost, user.email, user.password);
  await field.waitFor();
  t.equal(await field.getAttribute('inputmode'), 'numeric');
  await button(lost, 'Use a recovery code').click();
  t.equal(await focused(lost), 'otp');
  t.equal(await field.getAttribute('inputmode'), 'text');
  lost.complaints();
  await lost.page.getByLabel('Recovery code').pressSequentially(` ${codes[0]?.toUpperCase().replaceAll('-', ' ')} `);
  await lost.page.keyboard.press('Enter');
  await waitForOwnAccount(lost);
  t.strictSame(lost.complaints(), []);

  const again = await newPerson(browser, service);
  await signIn(again, user.email, user.password);
  await again.page.locator('#otp').fill(codes[0] ?? '');
  await again.page.keyboard.press('Enter');
  t.match(await again.said('fault'), 'already been used');
  await button(again, 'Use a recovery code').click();
  await button(again, 'Use a code from the app').click();
  await again.page.getByLabel('Code from your authenticator app').waitFor();

  await person.open('/account/security');
  await waitForOwnAccount(person);
  await page.getByText('9 left').waitFor();
  await openDialog(person, 'security', 'tfa-renew');
  await page.locator('#tfa-recovery-password').fill('wrong');
  await page.keyboard.press('Enter');
  t.match(await person.said('fault'), 'The password is incorrect.');
  t.equal(await focused(person), 'tfa-recovery-password');
  await page.keyboard.type(user.password);
  await page.keyboard.press('Enter');
  const fresh = await shownCodes(person);
  t.equal(fresh.filter((one) => codes.includes(one)).length, 0);
  await person.page.getByLabel('I have saved these codes').check();
  await button(person, 'Done').click();
  await nextFrames(person);
  t.equal(await page.locator('#tfa-recovery-password').inputValue(), '');
  person.complaints();

  await openDialog(person, 'security', 'tfa-off');
  await page.locator('#tfa-off-code').fill(codes[1] ?? '');
  await button(person, 'Turn off').click();
  t.match(await person.said('fault'), 'The code is incorrect');
  await page.locator('#tfa-disable [data-other-code]').click();
  await page.locator('#tfa-off-code').fill(fresh[0] ?? '');
  await button(person, 'Turn off').click();
  await page.getByText('Two-factor authentication is off.').waitFor();
  await changeFirstName(later, 'Ada');
  await later.page.waitForURL(/\/account\/login/);
  t.pass('other sessions have ended');
});

t.test('users who must set up two-factor authentication see the whole page afterwards', async (t) => {
  const user = await createUserOverHttp(service, { canChange: ['first_name'], enforceTfa: true });
  const person = await signedIn(user);
  t.equal(await person.page.locator('[data-panel=profile]').isVisible(), false);
  person.complaints();
  await setUp(person, user.password);
  t.equal((await shownCodes(person)).length, 10);
  await person.page.getByLabel('I have saved these codes').check();
  await button(person, 'Done').click();
  await person.page.locator('[data-entry=profile]').waitFor();
  t.notMatch(await visibleText(person), 'needs two-factor authentication');
  await openDialog(person, 'security', 'tfa-renew');
  await person.page.locator('#tfa-recovery-password').fill(user.password);
  await person.page.keyboard.press('Enter');
  t.equal((await shownCodes(person)).length, 10);
  t.strictSame(person.complaints(), []);
});

t.test('users who must set up two-factor authentication for an application return to it afterwards', async (t) => {
  // The provider redirects to PUBLIC_URL.
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const home = await createHome(t, { prepared: true });
  const provider = await startService(home, { ...variables, PORT: String(port), PUBLIC_URL: url });
  const user = await createUserOverHttp(provider, { enforceTfa: true });
  const call = await asAdministrator(provider);
  // The application: its page only has to exist.
  const server = createServer((_request, response) => response.end('The shop'));
  const callback = `http://127.0.0.1:${await listen(server)}/callback`;
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const values = { name: 'The shop', type: 'public', first_party: true, redirect_uris: [callback] };
  const client = await call('POST', '/clients', values);
  const person = await newPerson(browser, provider);
  const { page } = person;
  const query = {
    client_id: String(client.id),
    response_type: 'code',
    scope: 'openid',
    redirect_uri: callback,
    code_challenge: 'x'.repeat(43),
    code_challenge_method: 'S256',
  };
  await signIn(person, user.email, user.password, `/oauth/authorize?${new URLSearchParams(query)}`);
  await waitForOwnAccount(person);
  // Until the setup, the service refuses the rest of the account.
  person.complaints();
  const link = page.getByRole('link', { name: 'Continue to The shop' });
  t.equal(await link.isVisible(), false, 'not before the setup');
  await setUp(person, user.password);
  await shownCodes(person);
  await page.getByLabel('I have saved these codes').check();
  await button(person, 'Done').click();
  await link.waitFor();
  t.strictSame(await accessibilityViolations(person), []);
  await link.click();
  await page.waitForURL(({ href }) => href.startsWith(`${callback}?code=`));
  t.strictSame(person.complaints(), []);
});

t.test('users without a password enter a code instead', async (t) => {
  const user = await createUserOverHttp(service, { canChange: everything });
  const person = await signedIn(user);
  const call = await asAdministrator(service);
  const query = { filter: { email: { _eq: user.email } } };
  await call('PATCH', '/users', { query, data: { provider: 'github' } });
  await person.open('/account');
  await waitForOwnAccount(person);
  const secret = await setUp(person);
  t.match(await person.said('status'), 'is on.');
  await openDialog(person, 'security', 'tfa-renew');
  await person.page.locator('#tfa-recovery-code').fill('000000');
  t.match(await person.said('fault'), 'The code is incorrect');
  await person.page.locator('#tfa-recovery-code').fill(currentCode(secret));
  t.equal((await shownCodes(person)).length, 10);
});

t.test('users can request recovery codes again if creating them failed', async (t) => {
  const user = await createUserOverHttp(service, { canChange: everything });
  const person = await signedIn(user);
  await person.page.route('**/recovery-codes', (route) => route.abort());
  await setUp(person, user.password);
  t.match(await person.said('alert'), 'cannot be reached');
  t.equal(await person.page.locator('[data-tfa-on]').first().isVisible(), true);
  await person.page.unroute('**/recovery-codes');
  await person.page.locator('#tfa-recovery-password').fill(user.password);
  await person.page.keyboard.press('Enter');
  t.equal((await shownCodes(person)).length, 10);
});

t.test('after too many wrong codes, the page says when to try again', async (t) => {
  const user = await createUserOverHttp(service, { canChange: everything });
  await setUp(await signedIn(user), user.password);
  const person = await newPerson(browser, service);
  await signIn(person, user.email, user.password);
  await person.page.locator('#otp').waitFor();
  for (let tries = 0; tries < 6; tries++) {
    const answer = person.page.waitForResponse('**/auth/login');
    await person.page.locator('#otp').fill(`00000${tries}`);
    await answer;
    await waitForForm(person, '#login');
  }
  t.match(await person.said('alert'), /Too many attempts\. Try again in (29|30) seconds\./);
});

t.test('two-factor authentication is accessible and fits a phone screen in every language', async (t) => {
  for (const colorScheme of ['light', 'dark'] as const) {
    const user = await createUserOverHttp(service, { canChange: everything });
    const person = await signedIn(user, { colorScheme, bypassCSP: true, viewport: { width: 320, height: 600 } });
    const isTooWide = () => person.page.evaluate('document.documentElement.scrollWidth > 320');
    await setUp(person, user.password);
    await shownCodes(person);
    t.strictSame(await accessibilityViolations(person), [], `codes, ${colorScheme}`);
    t.equal(await isTooWide(), false, `codes, ${colorScheme}`);
    await person.page.getByLabel('I have saved these codes').check();
    await button(person, 'Done').click();
    for (const lang of ['de-DE', 'en-US', 'es-ES', 'fr-FR', 'zh-CN']) {
      await person.open(`/account/security?lang=${lang}`);
      await waitForOwnAccount(person);
      await person.page.locator('#tfa-turn-off').click();
      await person.page.locator('#tfa-disable [data-other-code]').click();
      t.equal(await isTooWide(), false, `on, ${lang}`);
      await person.page.keyboard.press('Escape');
      await person.page.locator('#recovery-renew').click();
      await person.page.locator('#tfa-recovery-password').fill(user.password);
      await person.page.locator('#tfa-recovery [type=submit]').click();
      await shownCodes(person);
      t.equal(await isTooWide(), false, `codes, ${lang}`);
    }
    await person.open('/account/security');
    await waitForOwnAccount(person);
    await person.page.locator('#recovery-renew').click();
    await person.page.locator('#tfa-recovery [type=submit]').click();
    await person.said('fault');
    t.strictSame(await accessibilityViolations(person), [], `on, with faults, ${colorScheme}`);

    const visitor = await newPerson(browser, service, { colorScheme, bypassCSP: true });
    await signIn(visitor, user.email, user.password);
    await button(visitor, 'Use a recovery code').click();
    t.strictSame(await accessibilityViolations(visitor), [], `signing in, ${colorScheme}`);
  }
});
