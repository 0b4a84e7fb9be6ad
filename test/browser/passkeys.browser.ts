import t from 'tap';
import {
  barriers,
  newPerson,
  openDialog,
  openSection,
  ownEmail,
  type Person,
  seesOwnAccount,
  signIn,
  startBrowser,
} from '../helpers/browser.js';
import { minute } from '../helpers/clock.js';
import { startClockedService } from '../helpers/clocked-service.js';
import { bundleOf } from '../helpers/guide.js';
import { createUser } from '../helpers/people.js';
import { freePort } from '../helpers/service.js';

/** Passkeys on the account pages, with the virtual authenticator of Chromium. */

const port = String(await freePort());
const service = await startClockedService(t, { PORT: port, PUBLIC_URL: `http://localhost:${port}` });
const browser = await startBrowser(t);

const button = ({ page }: Person, name: string) => page.getByRole('button', { name, exact: true });
const says = ({ page }: Person, words: string) => page.getByText(words).waitFor();

/** A person whose browser has an authenticator. @returns functions that turn it off and on, as if the user did not respond */
async function withAuthenticator({ bypassCSP = false } = {}) {
  const person = await newPerson(browser, { url: `http://localhost:${port}` }, { bypassCSP });
  const session = await person.context.newCDPSession(person.page);
  await session.send('WebAuthn.enable');
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  const respond = (enabled: boolean) =>
    session.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled });
  return { ...person, respond };
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
  const user = await createUser(service, []);
  // For axe, which `barriers` runs in the page.
  const person = await withAuthenticator({ bypassCSP: true });
  await signIn(person, user.email, user.password);
  await seesOwnAccount(person);
  await addPasskey(person);
  t.strictSame(await barriers(person), []);
  await button(person, 'Add a passkey').click();
  await says(person, 'There is already a passkey for your account on this device.');

  await person.page.getByRole('button', { name: /^Rename/ }).click();
  await person.page.locator('#passkey-name').fill('Laptop');
  await person.page.locator('#passkey-form [type=submit]').click();
  await says(person, 'The passkey has a new name.');
  await person.page.getByRole('heading', { name: 'Laptop' }).waitFor();

  await person.respond(false);
  await signOut(person);
  t.strictSame(await barriers(person), []);
  await person.respond(true);
  await button(person, 'Use a passkey').click();
  await seesOwnAccount(person);
  await openSection(person, 'security');

  await person.page.getByRole('button', { name: /^Remove/ }).click();
  await person.page.locator('[data-yes]').click();
  await says(person, 'Passkey removed. You are signed out on all other devices.');
  t.equal(await person.page.getByRole('heading', { name: 'Laptop' }).count(), 0);
});

t.test('a passkey that was removed is not accepted, and the page says so', async () => {
  const user = await createUser(service, []);
  const person = await withAuthenticator();
  await signIn(person, user.email, user.password);
  await seesOwnAccount(person);
  await addPasskey(person);
  await person.page.getByRole('button', { name: /^Remove/ }).click();
  await person.page.locator('[data-yes]').click();
  await says(person, 'Passkey removed.');
  await person.respond(false);
  await signOut(person);
  await person.respond(true);
  await button(person, 'Use a passkey').click();
  await says(person, 'This passkey is not accepted here.');
});

t.test('if the session is not fresh, a passkey confirms the identity', async () => {
  const user = await createUser(service, []);
  const person = await withAuthenticator();
  await signIn(person, user.email, user.password);
  await seesOwnAccount(person);
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

t.test('the code in the guide adds a passkey and signs in with it', async (t) => {
  const url = `http://localhost:${port}`;
  const codes = {
    'without the SDK': { text: 'useBrowserAutofill', replacements: {} },
    'with the SDK': { text: '@directus/sdk', replacements: { 'https://accounts.example.com': url } },
  };
  for (const [what, { text, replacements }] of Object.entries(codes)) {
    const user = await createUser(service, []);
    // The pages of the service allow no scripts of others.
    const person = await withAuthenticator({ bypassCSP: true });
    await signIn(person, user.email, user.password);
    await seesOwnAccount(person);
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
    await seesOwnAccount(person);
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
  const user = await createUser(service, []);
  const person = await withAuthenticator();
  await person.open('/account/login');
  t.equal(await person.page.locator('#email').getAttribute('autocomplete'), 'username webauthn');
  await signIn(person, user.email, user.password);
  await seesOwnAccount(person);
  await addPasskey(person);
  await signOut(person).catch(() => {});
  // The virtual authenticator accepts the suggestion immediately.
  await seesOwnAccount(person);
});
