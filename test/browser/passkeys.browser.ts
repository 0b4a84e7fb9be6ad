import type { BrowserContextOptions } from 'playwright-core';
import t from 'tap';
import { settings } from '../../db/schema.js';
import {
  accessibilityViolations,
  addAuthenticator,
  type Device,
  focused,
  newPerson,
  openDialog,
  openSection,
  ownEmail,
  type Person,
  saveScreenshot,
  signIn,
  startBrowser,
  waitForOwnAccount,
} from '../helpers/browser/browser.js';
import { linkTo } from '../helpers/mail/mails.js';
import { bundleOf } from '../helpers/project/guide.js';
import { freePort } from '../helpers/servers/ports.js';
import { day, minute } from '../helpers/service/clock.js';
import { startClockedService } from '../helpers/service/clocked-service.js';
import { createUserOverHttp } from '../helpers/users/over-http.js';
import { currentCode, rfcSecret } from '../helpers/users/totp.js';
import { createUser } from '../helpers/users/users.js';

/** Passkeys on the account pages, with the virtual authenticator of Chromium. */

const port = String(await freePort());
const service = await startClockedService(t, { PORT: port, PUBLIC_URL: `http://localhost:${port}` });
const browser = await startBrowser(t);

const button = ({ page }: Person, name: string) => page.getByRole('button', { name, exact: true });
const says = ({ page }: Person, words: string) => page.getByText(words).waitFor();

/**
 * A person whose browser has an authenticator.
 * @param suggests whether the browser suggests passkeys in the field for the address, which the authenticator accepts immediately
 */
async function withAuthenticator(
  options: BrowserContextOptions = {},
  { suggests = false, ...device }: Device & { suggests?: boolean } = {},
) {
  const person = await newPerson(browser, service, options);
  const turnOff = 'PublicKeyCredential.isConditionalMediationAvailable = async () => false';
  if (!suggests) await person.context.addInitScript(turnOff);
  return { ...person, respond: await addAuthenticator(person, device) };
}

async function addPasskey(person: Person): Promise<void> {
  await openSection(person, 'security');
  await button(person, 'Add a passkey').click();
  await says(person, 'Passkey added. You can now sign in with it.');
}

const signOut = async (person: Person) => {
  await button(person, 'Sign out').click();
  await person.page.waitForURL(/\/account\/login/);
};

t.test('users add a passkey, and then sign in with it', async (t) => {
  const user = await createUserOverHttp(service);
  // For axe, which `barriers` runs in the page.
  const person = await withAuthenticator({ bypassCSP: true });
  await signIn(person, user.email, user.password);
  await waitForOwnAccount(person);
  await addPasskey(person);
  t.strictSame(await accessibilityViolations(person), []);
  await button(person, 'Add a passkey').click();
  await says(person, 'There is already a passkey for your account on this device.');
  t.equal(await focused(person), 'passkey-add', 'the focus is still on the button');

  await person.page.getByRole('button', { name: /^Rename/ }).click();
  await person.page.locator('#passkey-name').fill('Laptop');
  await person.page.locator('#passkey-form [type=submit]').click();
  await says(person, 'Passkey renamed.');
  await person.page.getByRole('heading', { name: 'Laptop' }).waitFor();

  await person.respond(false);
  await signOut(person);
  t.strictSame(await accessibilityViolations(person), []);
  await person.respond(true);
  await button(person, 'Use a passkey').click();
  await waitForOwnAccount(person);
  await openSection(person, 'security');

  await person.page.getByRole('button', { name: /^Remove/ }).click();
  await person.page.locator('[data-yes]').click();
  await says(person, 'Passkey removed. You are signed out on all other devices.');
  t.equal(await person.page.getByRole('heading', { name: 'Laptop' }).count(), 0);
});

t.test('a passkey that was removed is not accepted, and the page says so', async (t) => {
  const user = await createUserOverHttp(service);
  const person = await withAuthenticator();
  await signIn(person, user.email, user.password);
  await waitForOwnAccount(person);
  await addPasskey(person);
  await person.page.getByRole('button', { name: /^Remove/ }).click();
  await person.page.locator('[data-yes]').click();
  await says(person, 'Passkey removed.');
  await person.respond(false);
  await signOut(person);
  await person.respond(true);
  const told = person.page.evaluate(
    'new Promise((resolve) => { PublicKeyCredential.signalUnknownCredential = async (one) => resolve(one); })',
  );
  await button(person, 'Use a passkey').click();
  await says(person, 'This passkey is not accepted here. It was removed from the account.');
  t.match(await told, { rpId: 'localhost', credentialId: /^[\w-]{16,}$/ }, 'the browser no longer offers it');
});

t.test('if the session is not fresh, a passkey confirms the identity', async () => {
  const user = await createUserOverHttp(service);
  const person = await withAuthenticator();
  await signIn(person, user.email, user.password);
  await waitForOwnAccount(person);
  await addPasskey(person);
  service.clock.advance(16 * minute);
  await openDialog(person, 'security', 'password');
  await person.page.getByLabel('New password').fill('a calm meadow in autumn');
  await button(person, 'Change password').click();
  const dialog = person.page.getByRole('dialog', { name: 'Confirm that it’s you' });
  await dialog.waitFor();
  await dialog.getByRole('button', { name: 'Use a passkey' }).click();
  await says(person, 'Password changed.');
});

t.test('if a second factor is required, a passkey opens the rest of the account', async (t) => {
  const user = await createUserOverHttp(service, { enforceTfa: true });
  const person = await withAuthenticator({ bypassCSP: true });
  const sections = () => person.page.getByRole('link', { name: 'Sessions' });
  await signIn(person, user.email, user.password);
  await waitForOwnAccount(person);
  await says(person, 'Your account needs two-factor authentication.');
  await button(person, 'Add a passkey').click();
  await sections().waitFor();
  await signOut(person);

  await signIn(person, user.email, user.password);
  await waitForOwnAccount(person);
  await says(person, 'Your account is protected by a passkey.');
  t.notOk(await person.page.getByText('Your account needs two-factor authentication.').isVisible());
  t.strictSame(await accessibilityViolations(person), []);
  await saveScreenshot(person, 'passkey-required');
  await button(person, 'Set up Authenticator app').click();
  await person.page.locator('#tfa-password').fill(user.password);
  await person.page.locator('#tfa-begin [type=submit]').click();
  const dialog = person.page.getByRole('dialog', { name: 'Confirm that it’s you' });
  await dialog.getByRole('button', { name: 'Use a passkey' }).waitFor();
  t.notOk(await dialog.getByLabel('Current password').isVisible(), 'the password is not strong enough');
  await person.page.reload();
  await waitForOwnAccount(person);
  await person.page.locator('[data-confirm-passkey]').click();
  await sections().waitFor();
  t.notOk(await person.page.getByText('Your account is protected by a passkey.').isVisible());
});

t.test('the code in the guide adds a passkey and signs in with it', async (t) => {
  const url = `http://localhost:${port}`;
  const codes = {
    'without the SDK': { text: 'useBrowserAutofill', replacements: {} },
    'with the SDK': { text: '@directus/sdk', replacements: { 'https://accounts.example.com': url } },
  };
  for (const [what, { text, replacements }] of Object.entries(codes)) {
    const user = await createUserOverHttp(service);
    // The pages of the service allow no scripts of others.
    const person = await withAuthenticator({ bypassCSP: true });
    await signIn(person, user.email, user.password);
    await waitForOwnAccount(person);
    const script = await bundleOf('docs/passkeys.md', text, replacements);
    const run = async (code: string) => {
      await person.page.addScriptTag({ content: script });
      return person.page.evaluate(code);
    };
    await run("guide.addPasskey('Laptop')");
    if (what === 'with the SDK') t.match(await run('guide.listPasskeys()'), [{ name: 'Laptop', last_used_at: null }]);
    await person.context.clearCookies();
    // A page without a script, because the sign-in page would use the passkey itself.
    await person.open('/server/ping');
    await run('guide.signIn()');
    await person.open('/account');
    await waitForOwnAccount(person);
    t.equal(await ownEmail(person), user.email, what);
    if (what === 'without the SDK') continue;
    t.match(
      await run('guide.listPasskeys().then(async ([{ id }]) => (await guide.removePasskey(id), guide.listPasskeys()))'),
      [],
    );
    const refused = await run('guide.signIn().catch(({ errors }) => errors[0].extensions.code)');
    t.equal(refused, 'INVALID_CREDENTIALS', 'the passkey was removed');
  }
});

t.test('the browser suggests passkeys in the field for the address', async (t) => {
  const user = await createUserOverHttp(service);
  const person = await withAuthenticator({}, { suggests: true });
  await person.open('/account/login');
  t.equal(await person.page.locator('#email').getAttribute('autocomplete'), 'username webauthn');
  await signIn(person, user.email, user.password);
  await waitForOwnAccount(person);
  await addPasskey(person);
  await signOut(person).catch(() => {});
  // The virtual authenticator accepts the suggestion immediately.
  await waitForOwnAccount(person);
});

const phone = { width: 390, height: 844 };
const desktop = { width: 1280, height: 800 };
const languages = ['de-DE', 'en-US', 'es-ES', 'fr-FR', 'zh-CN'];

const suggestion = ({ page }: Person) =>
  page.getByRole('region', { name: 'Sign in without a password next time', exact: true });

type User = { email: string; password: string };

async function signedIn(person: Person, { email, password }: User): Promise<void> {
  await signIn(person, email, password);
  await waitForOwnAccount(person);
}

/** Signs in again in the same browser. @returns whether the account page suggests a passkey */
async function isSuggestedTo(person: Awaited<ReturnType<typeof withAuthenticator>>, user: User): Promise<boolean> {
  await signedIn(person, user);
  const isShown = await suggestion(person).isVisible();
  await person.respond(false);
  await signOut(person);
  return isShown;
}

/** The text of the focused element. */
const focusedText = ({ page }: Person) => page.evaluate('document.activeElement.textContent');

for (const [device, viewport] of Object.entries({ phone, desktop })) {
  t.test(`after signing in with a password, the account page suggests a passkey (${device})`, async (t) => {
    const user = await createUser(service.app);
    const person = await withAuthenticator({ viewport });
    await signedIn(person, user);
    await suggestion(person).waitFor();
    await saveScreenshot(person, `suggestion-${device}`);
    t.equal(await focused(person), '', 'the focus has not moved');
    t.equal(await person.page.locator('dialog[open]').count(), 0);
    await openSection(person, 'security');
    t.equal(await suggestion(person).isVisible(), false, 'this section has its own button');
    await person.page.goBack();
    await suggestion(person).getByRole('button', { name: 'Add a passkey' }).click();
    await says(person, 'Passkey added. You can now sign in with it.');
    t.equal(await suggestion(person).isVisible(), false);
    t.equal(await focusedText(person), device === 'phone' ? 'Your account' : 'Profile');
    await person.page.reload();
    await waitForOwnAccount(person);
    t.equal(await suggestion(person).isVisible(), false);
    await person.respond(false);
    await signOut(person);
    t.equal(await isSuggestedTo(person, user), false, 'the account has a passkey');
    t.strictSame(person.complaints(), []);
  });
}

t.test('users decline the suggestion with the keyboard, for themselves, on this device, and for 90 days', async (t) => {
  const user = await createUser(service.app);
  const other = await createUser(service.app);
  const person = await withAuthenticator({ viewport: desktop });
  const { page } = person;
  await signedIn(person, user);
  await suggestion(person).waitFor();
  const decline = suggestion(person).getByRole('button', { name: 'Not now' });
  for (let steps = 0; steps < 20 && (await focusedText(person)) !== 'Not now'; steps++)
    await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await decline.waitFor({ state: 'hidden' });
  t.equal(await focusedText(person), 'Profile');
  await page.reload();
  await waitForOwnAccount(person);
  t.equal(await suggestion(person).isVisible(), false, 'after a reload');
  await signOut(person);
  t.equal(await isSuggestedTo(person, user), false, 'after another login');
  t.equal(await isSuggestedTo(person, other), true, 'another user of this device');
  t.equal(await isSuggestedTo(await withAuthenticator(), user), true, 'another device');
  await page.clock.setSystemTime(Date.now() + 89 * day);
  t.equal(await isSuggestedTo(person, user), false, 'after 89 days');
  await page.clock.setSystemTime(Date.now() + 91 * day);
  t.equal(await isSuggestedTo(person, user), true, 'after 91 days');
});

t.test('a passkey is suggested only to users who can add one and have signed in with a password', async (t) => {
  const user = await createUser(service.app);
  t.equal(await isSuggestedTo(await withAuthenticator(), user), true);
  const withoutDevice = await newPerson(browser, service);
  await signedIn(withoutDevice, user);
  t.equal(await suggestion(withoutDevice).isVisible(), false, 'no authenticator');
  t.equal(await isSuggestedTo(await withAuthenticator({}, { hasLock: false }), user), false, 'no lock on the device');

  await service.app.db.update(settings).set({ emailLogin: true });
  const byEmail = await withAuthenticator();
  await service.post('/auth/email/request', { email: user.email });
  await byEmail.open(await linkTo(service.app, 'email-login', user.email));
  await button(byEmail, 'Sign in').click();
  await waitForOwnAccount(byEmail);
  t.equal(await suggestion(byEmail).isVisible(), false, 'signed in by email');
  await service.app.db.update(settings).set({ emailLogin: false });

  const mustSetUpTfa = await createUserOverHttp(service, { enforceTfa: true });
  t.equal(await isSuggestedTo(await withAuthenticator(), mustSetUpTfa), false, 'must set up a second factor first');
  await service.app.db.update(settings).set({ selfService: false });
  t.equal(await isSuggestedTo(await withAuthenticator(), user), false, 'may not add a passkey');
  await service.app.db.update(settings).set({ selfService: true });
});

t.test('a passkey is suggested after a password reset too', async () => {
  const user = await createUser(service.app);
  const person = await withAuthenticator();
  await person.open('/account/forgot-password');
  await person.page.getByLabel('Email address').fill(user.email);
  await person.page.locator('[type=submit]').click();
  await person.page.locator('[data-part=done]').waitFor();
  await person.open(await linkTo(service.app, 'reset-password', user.email));
  await person.page.getByLabel('New password').fill('a calm meadow in autumn');
  await button(person, 'Save password').click();
  await waitForOwnAccount(person);
  await suggestion(person).waitFor();
});

t.test(
  'the suggestion is accessible and fits a phone in every language, light, dark, and in forced colors',
  async (t) => {
    const user = await createUser(service.app);
    for (const options of [{ colorScheme: 'light' }, { colorScheme: 'dark' }, { forcedColors: 'active' }] as const) {
      const person = await withAuthenticator({ ...options, bypassCSP: true });
      const { page } = person;
      await signedIn(person, user);
      for (const lang of languages) {
        for (const width of [320, 390, 1280]) {
          await page.setViewportSize({ width, height: 844 });
          await person.open(`/account?lang=${lang}`);
          await page.locator('[data-passkey-suggestion]').waitFor();
          const what = `suggestion-${Object.values(options)}-${width}-${lang}`;
          await saveScreenshot(person, what);
          t.equal(await page.evaluate(`document.documentElement.scrollWidth > ${width}`), false, what);
          if (lang === 'de-DE') t.strictSame(await accessibilityViolations(person), [], what);
        }
      }
    }
  },
);

const oneTimeCode = () => currentCode(rfcSecret.base32, service.clock.now());

/** A user with two-factor authentication, and a passkey in an authenticator that does not verify its user. */
async function withUnverifiedPasskey(options: BrowserContextOptions = {}) {
  const user = await createUser(service.app, { tfa: true });
  const person = await withAuthenticator(options, { verifies: false });
  await signIn(person, user.email, user.password);
  await person.page.locator('#otp').fill(oneTimeCode());
  await waitForOwnAccount(person);
  await addPasskey(person);
  service.clock.advance(minute);
  return person;
}

t.test('if the passkey does not verify the user, users with two-factor authentication enter a code', async (t) => {
  for (const viewport of [phone, desktop]) {
    const person = await withUnverifiedPasskey({ viewport, bypassCSP: true });
    const { page } = person;
    const code = page.getByRole('textbox', { name: 'Code from your authenticator app' });
    const usePasskey = async () => {
      await person.respond(true);
      await button(person, 'Use a passkey').click();
      await page.getByRole('heading', { name: 'Enter your code' }).waitFor();
      await person.respond(false);
    };
    await person.respond(false);
    await signOut(person);
    await usePasskey();
    await saveScreenshot(person, `passkey-code-${viewport.width}`);
    t.equal(await focused(person), 'passkey-otp');
    t.strictSame(await accessibilityViolations(person), []);
    await code.fill('000000');
    t.match(await person.said('fault'), 'The code is incorrect');
    t.strictSame(await accessibilityViolations(person), []);

    await button(person, 'Sign in another way').click();
    await page.getByLabel('Email address').waitFor();
    await usePasskey();
    t.equal(await code.inputValue(), '');
    t.equal(await page.locator('.fault:not(:empty)').count(), 0);
    service.clock.advance(10 * minute);
    await code.fill(oneTimeCode());
    await says(person, 'This passkey is not accepted here. Try again, or sign in another way.');

    await usePasskey();
    await code.fill(oneTimeCode());
    await waitForOwnAccount(person);
  }
});

t.test('a passkey that does not verify the user does not replace the code in a confirmation either', async (t) => {
  const person = await withUnverifiedPasskey();
  service.clock.advance(16 * minute);
  await openDialog(person, 'security', 'password');
  await person.page.getByLabel('New password').fill('a calm meadow in autumn');
  await button(person, 'Change password').click();
  const dialog = person.page.getByRole('dialog', { name: 'Confirm that it’s you' });
  await dialog.getByRole('button', { name: 'Use a passkey' }).click();
  await says(person, 'This passkey was used without a fingerprint, face, or PIN. Enter a code instead.');
  t.equal(await focused(person), 'proof-code');
  await person.page.keyboard.type(oneTimeCode());
  await says(person, 'Password changed.');
});
