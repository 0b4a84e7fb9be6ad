import t from 'tap';
import { settings } from '../../db/schema.js';
import {
  accessibilityViolations,
  focused,
  newPerson,
  ownEmail,
  type Person,
  saveScreenshot,
  startBrowser,
  visibleText,
  waitForOwnAccount,
} from '../helpers/browser/browser.js';
import { codeIn, findCode, linkIn, mailsTo, otherCode } from '../helpers/mail/mails.js';
import { bundleOf } from '../helpers/project/guide.js';
import { minute } from '../helpers/service/clock.js';
import { startClockedService } from '../helpers/service/clocked-service.js';
import { currentCode, rfcSecret } from '../helpers/users/totp.js';
import { createUser } from '../helpers/users/users.js';

const service = await startClockedService(t);
const browser = await startBrowser(t);
const { app } = service;
await app.db.update(settings).set({ emailLogin: true });

const languages = ['de-DE', 'en-US', 'es-ES', 'fr-FR', 'zh-CN'];
const button = ({ page }: Person, name: string) => page.getByRole('button', { name, exact: true });
const codeField = ({ page }: Person) => page.locator('#email-code-field');

/** The code and the path of the link in the latest email with a code. Notices may arrive later. */
async function received(email: string): Promise<{ code: string; link: string }> {
  const mail = (await mailsTo(app, email)).findLast((one) => findCode(one) !== undefined);
  if (!mail) throw new Error(`There is no email with a code to ${email}.`);
  const { pathname, search } = linkIn(mail);
  return { code: codeIn(mail), link: `${pathname}${search}` };
}

const oneTimeCode = () => currentCode(rfcSecret.base32, service.clock.now());

/** Opens the sign-in page and requests a code. */
async function requestCode(person: Person, email: string, path = '/account/login'): Promise<void> {
  await person.open(path);
  await person.page.locator('#email').fill(email);
  await person.page.locator('[data-email-code]').click();
  await codeField(person).waitFor();
}

t.test('users sign in with a code, with the keyboard alone', async (t) => {
  const { email } = await createUser(app);
  const person = await newPerson(browser, service);
  const { page } = person;
  await person.open('/account/login?redirect=%2Faccount%2Fsessions');
  const tabTo = async (selector: string) => {
    for (let steps = 0; steps < 20; steps++) {
      await page.keyboard.press('Tab');
      if (await page.evaluate(`document.activeElement.matches('${selector}')`)) return;
    }
    throw new Error(`Tab does not lead to ${selector}.`);
  };
  await tabTo('[data-email-code]');
  await page.keyboard.press('Enter');
  t.equal(await person.said('fault'), 'Enter your email address.');
  t.equal(await focused(person), 'email');
  await page.keyboard.type(email);
  await tabTo('[data-email-code]');
  await page.keyboard.press('Enter');
  await codeField(person).waitFor();
  t.equal(await focused(person), 'email-code-field');
  t.match(await visibleText(person), `If there is an account for ${email}, a six-digit code is on its way.`);
  t.strictSame(await Promise.all(['inputmode', 'autocomplete'].map((name) => codeField(person).getAttribute(name))), [
    'numeric',
    'one-time-code',
  ]);
  await page.keyboard.press('Enter');
  t.equal(await person.said('fault'), 'Enter the code from the email.');
  const { code } = await received(email);
  await page.keyboard.type(otherCode(code));
  t.match(await person.said('fault'), 'This code is incorrect or no longer valid.');
  t.equal(await focused(person), 'email-code-field');
  t.match(person.complaints(), [/401/]);
  await page.keyboard.type(` ${code.slice(0, 3)} ${code.slice(3)}`);
  await page.waitForURL('**/account/sessions');
  await waitForOwnAccount(person);
  t.equal(await ownEmail(person), email);
  t.strictSame(person.complaints(), []);
});

t.test('the page does not reveal whether an address belongs to a user', async (t) => {
  const { email } = await createUser(app);
  const seen: string[] = [];
  for (const address of [email, 'nobody@example.com']) {
    const person = await newPerson(browser, service);
    await requestCode(person, address);
    seen.push((await visibleText(person)).replace(address, '').replace(/\d+ seconds/, ''));
    await codeField(person).fill('000000');
    seen.push(await person.said('fault'));
  }
  t.strictSame(seen.slice(0, 2), seen.slice(2));
});

t.test('users with two-factor authentication also enter the code from their app', async (t) => {
  const { email } = await createUser(app, { tfa: true });
  const person = await newPerson(browser, service);
  await requestCode(person, email);
  await codeField(person).fill((await received(email)).code);
  const otp = person.page.locator('#email-otp');
  await otp.waitFor();
  t.equal(await focused(person), 'email-otp');
  await otp.fill('000000');
  t.match(await person.said('fault'), 'The code is incorrect');
  await otp.fill(oneTimeCode());
  await waitForOwnAccount(person);

  const elsewhere = await newPerson(browser, service);
  await requestCode(await newPerson(browser, service), email);
  await elsewhere.open((await received(email)).link);
  await button(elsewhere, 'Sign in').click();
  service.clock.advance(minute);
  await elsewhere.page.getByLabel('Code from your authenticator app').fill(oneTimeCode());
  await waitForOwnAccount(elsewhere);
});

t.test('users can request another code after a pause, continue after a reload, and sign in another way', async (t) => {
  const { email } = await createUser(app);
  const person = await newPerson(browser, service);
  const { page } = person;
  await page.clock.install();
  // The clock of the page stands still, except where the test moves it.
  await page.clock.pauseAt(Date.now() + 1000);
  await requestCode(person, email);
  const first = await received(email);
  const resend = page.locator('[data-send-code]');
  t.equal(await resend.textContent(), 'Send a new code (in 30 seconds)');
  t.equal(await resend.isDisabled(), true);
  await page.clock.runFor(12_000);
  t.equal(await resend.textContent(), 'Send a new code (in 18 seconds)');
  await page.reload();
  await codeField(person).waitFor();
  t.match(await visibleText(person), email);
  t.equal(await resend.textContent(), 'Send a new code (in 18 seconds)');
  await page.clock.runFor(20_000);
  service.clock.advance(minute);
  await button(person, 'Send a new code').click();
  t.match(await person.said('status'), 'Earlier codes no longer work.');
  t.equal(await focused(person), 'email-code-field');
  t.equal(await resend.isDisabled(), true);
  const second = await received(email);
  t.not(second.code, first.code);
  await codeField(person).fill(first.code);
  t.match(await person.said('fault'), 'This code is incorrect or no longer valid.');
  await button(person, 'Sign in another way').click();
  t.equal(await focused(person), 'email');
  await page.reload();
  await page.getByLabel('Password', { exact: true }).waitFor();
  t.equal(await codeField(person).isVisible(), false, 'a reload stays on the sign-in page');
});

t.test('the link signs the user in, in any browser, only after a click', async (t) => {
  const { email } = await createUser(app);
  await requestCode(await newPerson(browser, service), email, '/account/login?redirect=/account/security');
  const { link } = await received(email);
  const person = await newPerson(browser, service, { viewport: { width: 390, height: 780 } });
  await person.open(link);
  t.equal(new URL(person.page.url()).search, '', 'nothing that the page sent is in the link');
  t.match(await visibleText(person), email);
  await person.page.reload();
  t.match(await visibleText(person), email);
  t.strictSame(await person.context.cookies(), []);
  await button(person, 'Sign in').click();
  await person.page.waitForURL('**/account/security');
  await person.page.locator('[data-content]:not([aria-busy])').waitFor();
  t.strictSame(person.complaints(), []);

  const other = await newPerson(browser, service);
  await other.open(link);
  await other.page.getByText('This link has already been used').waitFor();
  t.notMatch(await visibleText(other), email);
  await other.page.getByRole('link', { name: 'Sign in' }).click();
  await other.page.waitForURL('**/account/login');
  await button(other, 'Email me a code').waitFor();
  t.strictSame(other.complaints(), []);
});

t.test('a link that is used, expires, or is turned off while the page is open is explained', async (t) => {
  const { email } = await createUser(app);
  const open = async () => {
    await requestCode(await newPerson(browser, service), email);
    const person = await newPerson(browser, service);
    await person.open((await received(email)).link);
    return person;
  };
  const late = await open();
  service.clock.advance(11 * minute);
  await button(late, 'Sign in').click();
  await late.page.getByText('has expired').waitFor();
  const off = await open();
  await app.db.update(settings).set({ emailLogin: false });
  await button(off, 'Sign in').click();
  await off.page.getByText('Sign-in by email is turned off.').waitFor();
  await off.page.getByRole('link', { name: 'Sign in' }).click();
  await button(off, 'Sign in').waitFor();
  t.equal(await off.page.locator('[data-email-code], #email-code').count(), 0, 'the sign-in page does not offer it');
  await app.db.update(settings).set({ emailLogin: true });
});

t.test('the link replaces the session of another user in this browser', async (t) => {
  const [first, second] = [await createUser(app), await createUser(app)];
  const person = await newPerson(browser, service);
  await requestCode(person, first.email);
  await codeField(person).fill((await received(first.email)).code);
  await waitForOwnAccount(person);
  await requestCode(await newPerson(browser, service), second.email);
  await person.open((await received(second.email)).link);
  await button(person, 'Sign in').click();
  await waitForOwnAccount(person);
  t.equal(await ownEmail(person), second.email);
});

t.test('the pages are accessible in light and dark, and fit small screens in every language', async (t) => {
  const { email } = await createUser(app, { tfa: true });
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [390, 1280]) {
      const person = await newPerson(browser, service, {
        colorScheme,
        bypassCSP: true,
        viewport: { width, height: 820 },
      });
      const check = async (name: string) => {
        await saveScreenshot(person, `${name}-${colorScheme}-${width}`);
        t.strictSame(await accessibilityViolations(person), [], `${name} ${colorScheme} ${width}`);
      };
      await person.open('/account/login');
      await check('login');
      await requestCode(person, email);
      await check('email-code');
      const { code, link } = await received(email);
      await codeField(person).fill(otherCode(code));
      await person.said('fault');
      await check('email-code-wrong');
      await codeField(person).fill(code);
      await person.page.locator('#email-otp').waitFor();
      await check('email-code-tfa');
      await person.open(link);
      await check('email-link');
      await button(person, 'Sign in').click();
      await person.page.locator('#otp').waitFor();
      await check('email-link-tfa');
      service.clock.advance(minute);
      await person.page.locator('#otp').fill(oneTimeCode());
      await waitForOwnAccount(person);
      await person.context.clearCookies();
      await person.open(link);
      await person.page.locator('[data-part=dead]').waitFor();
      await check('email-link-dead');
    }
  }
  const person = await newPerson(browser, service, { viewport: { width: 320, height: 640 }, forcedColors: 'active' });
  const { page } = person;
  const fits = async (what: string) =>
    t.equal(await page.evaluate('document.documentElement.scrollWidth > 320'), false, what);
  for (const lang of languages) {
    await requestCode(person, email, `/account/login?lang=${lang}`);
    await saveScreenshot(person, `email-code-${lang}`);
    await fits(`the code ${lang}`);
    const { link } = await received(email);
    await person.open(`${link}&lang=${lang}`);
    await saveScreenshot(person, `email-link-${lang}`);
    await fits(`the link ${lang}`);
    // The limit of requested emails would otherwise be reached.
    service.clock.advance(60 * minute);
  }
});

t.test('the code in the guide signs in with a code from an email', async (t) => {
  // The limit of requested emails would otherwise be reached.
  service.clock.advance(60 * minute);
  for (const text of ['fetch(', '@directus/sdk']) {
    const { email } = await createUser(app);
    // The pages of the service allow no scripts of others.
    const person = await newPerson(browser, service, { bypassCSP: true });
    await person.open('/account/login');
    await person.page.addScriptTag({
      content: await bundleOf('docs/email-sign-in.md', text, { 'http://localhost:8055': service.url }),
    });
    await person.page.evaluate(`guide.requestCode('${email}')`);
    const { code } = await received(email);
    await person.page.evaluate(`guide.signIn('${email}', '${code}')`);
    await person.open('/account');
    await waitForOwnAccount(person);
    t.equal(await ownEmail(person), email, text);
  }
});
