// @suite not-everyday: loads a large page

import t from 'tap';
import { accessibilityViolations, newPerson, type Person, startBrowser } from '../helpers/browser/browser.js';
import { createHome, startService } from '../helpers/service/service.js';
import { administrator } from '../helpers/users/credentials.js';
import { variables } from '../helpers/users/over-http.js';

const service = await startService(await createHome(t, { prepared: true }), variables);
const browser = await startBrowser(t);
const desktop = { width: 1280, height: 900 };
const phone = { width: 390, height: 800 };

/** Opens the reference, and waits until it shows the operations. */
async function openReference({ page, open }: Person, place = '') {
  await open(`/docs${place}`);
  await page.getByRole('heading', { name: 'Gatehouse', level: 1 }).waitFor();
  await page.waitForLoadState('networkidle');
}

t.test('the reference loads everything from the service, and its policy blocks nothing', async (t) => {
  for (const viewport of [desktop, phone]) {
    const person = await newPerson(browser, service, { viewport });
    const foreign: string[] = [];
    person.page.on('request', (request) => {
      if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(service.url)) foreign.push(request.url());
    });
    await openReference(person);
    t.strictSame(foreign, []);
    t.strictSame(person.complaints(), []);
    t.equal(await person.page.getByText('3.1.0').count(), 1, 'the version of OpenAPI is that of the document');
    t.ok(await person.page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${viewport.width}`);
  }
});

t.test('axe finds no barrier in it, light or dark, on a desktop or a phone', async (t) => {
  for (const viewport of [desktop, phone]) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const person = await newPerson(browser, service, { viewport, colorScheme, bypassCSP: true });
      await openReference(person);
      t.strictSame(await accessibilityViolations(person), [], `${viewport.width} ${colorScheme}`);
    }
  }
});

t.test('the search finds operations with the method SEARCH', async (t) => {
  const person = await newPerson(browser, service, { viewport: desktop, bypassCSP: true });
  await openReference(person);
  await person.page.keyboard.press('Control+k');
  await person.page.getByRole('combobox').first().fill('search users');
  await person.page.getByText('SEARCH', { exact: true }).first().waitFor();
  t.strictSame(await accessibilityViolations(person), []);
});

t.test('a login on the page authenticates the requests that follow', async (t) => {
  const person = await newPerson(browser, service, { viewport: desktop });
  await openReference(person, '#tag/authentication/post/auth/login');
  const { page } = person;
  const isSignedIn = "fetch('/users/me?fields=email').then(({ ok }) => ok)";
  t.equal(await page.evaluate(isSignedIn), false);
  await page
    .getByRole('button', { name: /^Test Request/ })
    .first()
    .click();
  await page.locator('.cm-content').first().click();
  await page.keyboard.press('Control+a');
  await page.keyboard.insertText(JSON.stringify({ email: administrator.email, password: administrator.password }));
  const answered = page.waitForResponse(/\/auth\/login$/);
  await page.getByRole('button', { name: /^Send/ }).first().click();
  t.equal((await answered).status(), 200);
  // The page reads the token from the response a moment after it has arrived.
  t.ok(await page.waitForFunction(isSignedIn));
});
