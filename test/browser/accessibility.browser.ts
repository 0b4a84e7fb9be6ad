// @suite not-everyday: checks every page in several color schemes

import t from 'tap';
import { settings } from '../../db/schema.js';
import {
  accessibilityViolations,
  focused,
  invisibleInForcedColors,
  newPerson,
  openDialog,
  type Person,
  saveScreenshot,
  sections,
  signIn,
  startBrowser,
  unreachableControls,
  waitForOwnAccount,
} from '../helpers/browser/browser.js';
import { dialogsIn, sendEmpty, tour, visitorPages } from '../helpers/browser/tour.js';
import { startOauth2Server } from '../helpers/providers/oauth2-server.js';
import { freePort } from '../helpers/servers/ports.js';
import { startClockedService } from '../helpers/service/clocked-service.js';
import { pagePaths } from '../helpers/service/pages.js';
import { administrator } from '../helpers/users/credentials.js';
import { createUserOverHttp } from '../helpers/users/over-http.js';

const port = String(await freePort());
const publicUrl = `http://localhost:${port}`;
const provider = await startOauth2Server(t, { publicUrl, keys: ['forum'] });
const service = await startClockedService(t, {
  PORT: port,
  PUBLIC_URL: publicUrl,
  AUTH_PROVIDERS: 'forum',
  ...provider.variables('forum', { LABEL: 'Forum' }),
});
const browser = await startBrowser(t);
await service.app.db
  .update(settings)
  .set({ publicRegistration: true, emailLogin: true, selfDeletion: true, projectColor: '#ffcc00' });

const { email, password } = administrator;

t.test('every page and dialog is accessible in light, dark, and forced colors, and with the Tab key', async (t) => {
  const person = await newPerson(browser, service, { bypassCSP: true });
  const { page } = person;
  await tour(service, person, async (state) => {
    const name = state.replaceAll(/\W+/g, '-');
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      t.strictSame(await accessibilityViolations(person), [], `axe, ${colorScheme}: ${state}`);
      await saveScreenshot(person, `${colorScheme}-${name}`);
    }
    t.strictSame(
      await invisibleInForcedColors(person),
      [],
      `what only its background separates from the rest has a border: ${state}`,
    );
    await saveScreenshot(person, `forced-${name}`);
    await page.emulateMedia({ colorScheme: null, forcedColors: null });
    t.strictSame(
      await unreachableControls(person),
      [],
      `the Tab key reaches every control, and the focus is visible: ${state}`,
    );
  });
});

/** What does not fit into the open dialog. Texts for screen readers are one pixel wide. */
const cutIn = ({ page }: Person): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('dialog[open], dialog[open] *')]
    .filter((element) => element.clientWidth > 1 && element.scrollWidth > element.clientWidth + 1)
    .filter((element) => element.matches('dialog') || (element.childElementCount === 0 && getComputedStyle(element).display !== 'inline'))
    .map((element) => element.outerHTML.slice(0, 100) + ' ' + element.scrollWidth + ' > ' + element.clientWidth)`);

t.test('no page logs an error, and every page fits the smallest screen', async (t) => {
  const person = await newPerson(browser, service, { viewport: { width: 320, height: 600 } });
  const isTooWide = () => person.page.evaluate('document.documentElement.scrollWidth > 320');
  for (const lang of ['de-DE', 'en-US', 'es-ES', 'fr-FR', 'zh-CN']) {
    for (const path of visitorPages(service.app)) {
      await person.open(`${path}${path.includes('?') ? '&' : '?'}lang=${lang}`);
      await sendEmpty(person);
      t.equal(await isTooWide(), false, `${path} ${lang}`);
      t.strictSame(person.complaints(), [], `${path} ${lang}`);
    }
  }
  await signIn(person, email, password, '/account/login?lang=en-US');
  await waitForOwnAccount(person);
  t.equal(await isTooWide(), false, '/account');
  for (const lang of ['de-DE', 'en-US', 'es-ES', 'fr-FR', 'zh-CN']) {
    for (const path of pagePaths(service.app).signedInElsewhere) {
      await person.open(`${path}?lang=${lang}`);
      t.equal(await isTooWide(), false, `${path} ${lang}`);
    }
    for (const section of sections) {
      await person.open(`/account/${section}?lang=${lang}`);
      await waitForOwnAccount(person);
      t.equal(await isTooWide(), false, `${section} ${lang}`);
      for (const name of await dialogsIn(person, section)) {
        await openDialog(person, section, name);
        t.strictSame(await cutIn(person), [], `${name} ${lang}`);
        await person.page.keyboard.press('Escape');
      }
    }
  }
  t.strictSame(person.complaints(), [], '/account');
});

t.test('the pages can be used with the keyboard alone', async (t) => {
  const user = await createUserOverHttp(service, { canChange: ['first_name', 'password'] });
  const person = await newPerson(browser, service);
  const { keyboard } = person.page;
  const tabTo = async (id: string) => {
    for (let steps = 0; steps < 20; steps++) {
      await keyboard.press('Tab');
      if ((await focused(person)) === id) return;
    }
    throw new Error(`Tab does not lead to ${id}.`);
  };
  await person.open('/account/login');
  await tabTo('email');
  await keyboard.type(user.email);
  await tabTo('password');
  await keyboard.type(user.password);
  await keyboard.press('Enter');
  await waitForOwnAccount(person);
  await tabTo('name-edit');
  await keyboard.press('Enter');
  await tabTo('first-name');
  await keyboard.type('Ada');
  await keyboard.press('Enter');
  t.equal(await person.said('status'), 'Saved.');
  t.equal(await focused(person), 'name-edit');
  await person.page.getByRole('link', { name: 'Security' }).focus();
  await keyboard.press('Enter');
  t.equal(await focused(person), 'security-title');
  await tabTo('password-edit');
  await keyboard.press('Enter');
  await tabTo('new-password');
  await keyboard.type('another good password');
  await keyboard.press('Tab');
  t.equal(
    await person.page.evaluate('getComputedStyle(document.activeElement).outlineStyle'),
    'solid',
    'the focused element is visible',
  );
  await keyboard.press('Space');
  t.equal(await person.page.getByLabel('New password').getAttribute('type'), 'text');
  await keyboard.press('Tab');
  await keyboard.press('Tab');
  await keyboard.press('Enter');
  await person.page.getByText('Password changed.').waitFor();
  const ids = new Set<string>();
  for (let steps = 0; steps < 60; steps++) {
    await keyboard.press('Tab');
    ids.add(await person.page.evaluate('document.activeElement.tagName'));
  }
  t.ok(ids.has('BODY') || ids.has('A'), 'the focus can leave every field');
});
