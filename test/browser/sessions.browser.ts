import t from 'tap';
import {
  accessibilityViolations,
  newPerson,
  openSection,
  type Person,
  signIn,
  startBrowser,
  visibleText,
  waitForOwnAccount,
} from '../helpers/browser/browser.js';
import { createHome, startService } from '../helpers/service/service.js';
import { createUserOverHttp, type User, variables } from '../helpers/users/over-http.js';

const service = await startService(await createHome(t, { prepared: true }), variables);
const browser = await startBrowser(t);

async function signedIn(user: User, options: Parameters<typeof newPerson>[2] = {}) {
  const person = await newPerson(browser, service, options);
  await signIn(person, user.email, user.password);
  await waitForOwnAccount(person);
  const entry = person.page.locator('.sections [data-to=sessions]');
  if (await entry.isVisible()) await openSection(person, 'sessions');
  return { ...person, section: person.page.locator('[data-panel=sessions]') };
}

/** Confirms what the dialog asks. */
const confirmed = ({ page }: Person) => page.getByRole('alertdialog').locator('[data-yes]').click();

const phone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1';

t.test('users can list their sessions and sign one of them out', async (t) => {
  const user = await createUserOverHttp(service);
  await service.post('/auth/login', user, { 'user-agent': 'curl/8.5.0' });
  const elsewhere = await signedIn(user, { userAgent: phone });
  const person = await signedIn(user);
  const { section, page } = person;
  await section.getByRole('heading', { name: 'Sessions' }).waitFor();
  const items = section.getByRole('listitem');
  t.equal(await items.count(), 3);
  const [first = '', ...others] = await items.allInnerTexts();
  t.match(first, /Chrom.*Linux/s, 'this browser comes first');
  t.match(first, 'This device');
  t.match(first, /Last active .*127\.0\.0\.1 · signed in /s);
  t.equal(await items.first().getByRole('button').count(), 0, 'the current session has no button');
  t.match(others.join(), /Safari, iOS.*curl/s);

  await section.getByRole('button', { name: 'Sign out Safari, iOS 127.0.0.1' }).click();
  t.equal(await person.said('status'), 'That device has been signed out.');
  t.equal(await items.count(), 2);
  t.equal(await page.evaluate('document.activeElement?.id'), 'sessions-title');
  await elsewhere.open('/account');
  await elsewhere.page.waitForURL(/\/account\/login/);
  t.strictSame(person.complaints(), []);
});

t.test('users can sign out everywhere else', async (t) => {
  const user = await createUserOverHttp(service);
  const elsewhere = await signedIn(user);
  const person = await signedIn(user);
  const all = person.section.getByRole('button', { name: 'Sign out everywhere else' });
  await all.click();
  await confirmed(person);
  t.equal(await person.said('status'), 'You are signed out everywhere else.');
  t.equal(await person.section.getByRole('listitem').count(), 1);
  t.equal(await all.isVisible(), false, 'no other session is left');
  await person.open('/account');
  await waitForOwnAccount(person);
  await elsewhere.open('/account');
  await elsewhere.page.waitForURL(/\/account\/login/);
  t.strictSame(person.complaints(), []);
});

t.test('the page reports sessions that have ended in the meantime', async (t) => {
  const user = await createUserOverHttp(service);
  const [person, another] = [await signedIn(user), await signedIn(user)];
  await another.page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
  await another.page.waitForURL(/\/account\/login/);
  await person.open('/account/sessions');
  await waitForOwnAccount(person);
  const third = await signedIn(user);
  await person.open('/account/sessions');
  await waitForOwnAccount(person);
  await third.page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
  await third.page.waitForURL(/\/account\/login/);
  await person.section.getByRole('listitem').getByRole('button').click();
  t.equal(await person.said('alert'), 'That session has already ended.');
  t.equal(await person.section.getByRole('listitem').count(), 1);

  const last = await signedIn(user);
  await last.section.getByRole('button', { name: 'Sign out everywhere else' }).click();
  await confirmed(last);
  await last.said('status');
  await person.page.reload();
  await person.page.waitForURL(/\/account\/login/, { timeout: 10_000 });
});

t.test('user agents are shown as text, and long ones do not break the page', async (t) => {
  const user = await createUserOverHttp(service);
  const agents = ['<img src=x onerror=alert(1)>', `${'W'.repeat(200)}/1.0`, 'Mozilla/5.0'];
  for (const agent of agents) await service.post('/auth/login', user, { 'user-agent': agent });
  const person = await signedIn(user, { viewport: { width: 320, height: 600 } });
  t.equal(await person.section.getByRole('listitem').count(), 4);
  t.match(await visibleText(person), 'Unknown device');
  t.equal(await person.page.evaluate('document.documentElement.scrollWidth > 320'), false);
  t.strictSame(person.complaints(), []);
});

t.test('the list is accessible and fits a phone screen in every language, light and dark', async (t) => {
  const user = await createUserOverHttp(service);
  await service.post('/auth/login', user, { 'user-agent': phone });
  for (const colorScheme of ['light', 'dark'] as const) {
    const person = await signedIn(user, { colorScheme, bypassCSP: true, viewport: { width: 320, height: 600 } });
    for (const lang of ['de-DE', 'en-US', 'es-ES', 'fr-FR', 'zh-CN']) {
      await person.open(`/account/sessions?lang=${lang}`);
      await waitForOwnAccount(person);
      t.strictSame(await accessibilityViolations(person), [], `${lang} ${colorScheme}`);
      t.equal(await person.page.evaluate('document.documentElement.scrollWidth > 320'), false, lang);
      t.equal(await person.section.locator(':visible', { hasText: /\{|undefined/ }).count(), 0, lang);
    }
  }
});

t.test('users who must set up two-factor authentication first do not see their sessions', async (t) => {
  const person = await signedIn(await createUserOverHttp(service, { enforceTfa: true }));
  t.equal(await person.section.isVisible(), false);
});
