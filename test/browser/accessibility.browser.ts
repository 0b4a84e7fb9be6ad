import t from 'tap';
import {
  barriers,
  focused,
  newPerson,
  openDialog,
  openSection,
  type Person,
  type Section,
  seesOwnAccount,
  signIn,
  startBrowser,
} from '../helpers/browser.js';
import { administrator, asAdministrator, createUser, variables } from '../helpers/people.js';
import { createHome, startService } from '../helpers/service.js';

const service = await startService(await createHome(t, { prepared: true }), variables);
const browser = await startBrowser(t);
const call = await asAdministrator(service);
await call('PATCH', '/settings', { public_registration: true, email_login: true, project_color: '#ffcc00' });

const { email, password } = administrator;
const schemes = ['light', 'dark'] as const;
const visitorPages = [
  '/account/login',
  '/account/login?reason=INVALID_CREDENTIALS',
  '/account/login?notice=signed-out',
  '/account/forgot-password',
  '/account/reset-password',
  '/account/reset-password?token=x',
  '/account/accept-invite',
  '/account/accept-invite?token=x',
  '/account/register',
  '/account/verify-email',
  '/account/verify-email?token=x',
  '/account/confirm-email?token=x',
  '/account/cancel-email-change?token=x',
  '/account/email-login?token=x',
  '/account/not-me',
  '/account/not-me?token=x',
  '/account/verified',
  '/account/verified?reason=TOKEN_EXPIRED',
];

const sections: Section[] = ['profile', 'security', 'sessions'];

/** The dialogs that a section can open. */
const opensIn = ({ page }: Person, section: Section): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('[data-panel=${section}] [data-opens]')]
    .filter((button) => button.checkVisibility()).map((button) => button.dataset.opens)`);

/** Submits the visible form empty, so that all of its error messages appear. */
async function sendEmpty({ page }: Person) {
  const submit = page.locator('form:visible:has(input:visible) button[type=submit]').first();
  if ((await submit.count()) > 0) await submit.click();
}

t.test('axe finds no accessibility issue on any page, light or dark', async (t) => {
  for (const colorScheme of schemes) {
    const person = await newPerson(browser, service, { colorScheme, bypassCSP: true });
    for (const path of visitorPages) {
      await person.open(path);
      t.strictSame(await barriers(person), [], `${path} ${colorScheme}`);
      await sendEmpty(person);
      t.strictSame(await barriers(person), [], `${path} ${colorScheme}, with faults`);
    }
    await signIn(person, email, password);
    await seesOwnAccount(person);
    for (const section of sections) {
      await openSection(person, section);
      t.strictSame(await barriers(person), [], `${section} ${colorScheme}`);
      for (const name of await opensIn(person, section)) {
        await openDialog(person, section, name);
        t.strictSame(await barriers(person), [], `${name} ${colorScheme}`);
        await person.page.locator('dialog[open] [type=submit]:visible').first().click();
        t.strictSame(await barriers(person), [], `${name} ${colorScheme}, with faults`);
        await person.page.keyboard.press('Escape');
      }
    }
  }
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
    for (const path of visitorPages) {
      await person.open(`${path}${path.includes('?') ? '&' : '?'}lang=${lang}`);
      await sendEmpty(person);
      t.equal(await isTooWide(), false, `${path} ${lang}`);
      t.strictSame(person.complaints(), [], `${path} ${lang}`);
    }
  }
  await signIn(person, email, password, '/account/login?lang=en-US');
  await seesOwnAccount(person);
  t.equal(await isTooWide(), false, '/account');
  for (const lang of ['de-DE', 'en-US', 'es-ES', 'fr-FR', 'zh-CN']) {
    for (const section of sections) {
      await person.open(`/account/${section}?lang=${lang}`);
      await seesOwnAccount(person);
      t.equal(await isTooWide(), false, `${section} ${lang}`);
      for (const name of await opensIn(person, section)) {
        await openDialog(person, section, name);
        t.strictSame(await cutIn(person), [], `${name} ${lang}`);
        await person.page.keyboard.press('Escape');
      }
    }
  }
  t.strictSame(person.complaints(), [], '/account');
});

t.test('the pages can be used with the keyboard alone', async (t) => {
  const user = await createUser(service, ['first_name', 'password']);
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
  await seesOwnAccount(person);
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
