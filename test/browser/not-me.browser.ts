import t from 'tap';
import {
  accessibilityViolations,
  newPerson,
  saveScreenshot,
  signIn,
  startBrowser,
  visibleText,
  waitForOwnAccount,
} from '../helpers/browser/browser.js';
import { linkTo } from '../helpers/mail/mails.js';
import { day } from '../helpers/service/clock.js';
import { startClockedService } from '../helpers/service/clocked-service.js';
import { createUser } from '../helpers/users/users.js';

/** The page behind the link "This wasn't me" in a security notice. */

const service = await startClockedService(t);
const browser = await startBrowser(t);
const { app } = service;

/** A user who got a notice of many failed sign-ins, and the path of its link. */
async function notified() {
  const user = await createUser(app);
  for (let tries = 0; tries < 25; tries++) {
    await service.post('/auth/login', { email: user.email, password: 'a wrong guess' });
  }
  const link = await linkTo(app, 'not-me', user.email);
  service.clock.advance(day);
  return { ...user, link };
}

t.test('after one click, all sessions have ended, and an email to choose a new password is on its way', async (t) => {
  const { email, password, link } = await notified();
  const attacker = await newPerson(browser, service);
  await signIn(attacker, email, password);
  await waitForOwnAccount(attacker);

  const person = await newPerson(browser, service, { viewport: { width: 390, height: 780 } });
  const { page } = person;
  await person.open(link);
  t.equal(new URL(page.url()).search, '', 'the token is not in the address bar');
  await attacker.page.reload();
  await waitForOwnAccount(attacker);
  t.pass('opening the page changes nothing');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'You are signed out everywhere' }).waitFor();
  t.strictSame(person.complaints(), []);
  await attacker.page.reload();
  await attacker.page.waitForURL(/\/account\/login/);

  await person.open(await linkTo(app, 'reset-password', email));
  await page.getByLabel('New password').fill('a calm meadow in autumn');
  await page.getByRole('button', { name: 'Save password' }).click();
  await waitForOwnAccount(person);
});

t.test('the page is accessible, fits small screens in every language, and explains an expired link', async (t) => {
  for (const colorScheme of ['light', 'dark'] as const) {
    const person = await newPerson(browser, service, {
      colorScheme,
      bypassCSP: true,
      viewport: { width: 320, height: 640 },
    });
    const { page } = person;
    const check = async (what: string) => {
      await saveScreenshot(person, `not-me-${what}-${colorScheme}`);
      t.strictSame(await accessibilityViolations(person), [], `${what} ${colorScheme}`);
      t.equal(await page.evaluate('document.documentElement.scrollWidth > 320'), false, what);
    };
    for (const lang of ['de-DE', 'en-US', 'es-ES', 'fr-FR', 'zh-CN']) {
      // Each link works once.
      await person.open(`${(await notified()).link}&lang=${lang}`);
      await check(lang);
      await page.locator('#confirm [type=submit]').click();
      await page.locator('[data-part=done]').waitFor();
      await check(`${lang}-done`);
    }
  }
  const { link } = await notified();
  service.clock.advance(8 * day);
  const late = await newPerson(browser, service);
  await late.open(link);
  await late.page.getByRole('button', { name: 'Sign out everywhere' }).click();
  await late.page.getByText('The link has expired.').waitFor();
  t.match(await visibleText(late), 'Reset your password');
});
