import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { settings } from '../../db/schema.js';
import { newPerson, signIn, startBrowser } from '../helpers/browser/browser.js';
import { codeIn, findCode, linkIn, mailsTo } from '../helpers/mail/mails.js';
import { atEndOf } from '../helpers/runner/teardown.js';
import { startClockedService } from '../helpers/service/clocked-service.js';
import { currentCode, rfcSecret } from '../helpers/users/totp.js';
import { createUser } from '../helpers/users/users.js';

/** An app on the same site: its page only has to exist. */
const server = createServer((_request, response) => response.end('The app'));
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
atEndOf(t, async () => void server.close());
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const target = `${origin}/orders?id=7#top`;

const service = await startClockedService(t, { ACCOUNT_RETURN_ORIGINS: origin });
const { app } = service;
await app.db.update(settings).set({ emailLogin: true });
const browser = await startBrowser(t);
const page = (to = target) => `/account/login?${new URLSearchParams({ return_to: to })}`;

t.test('after the login, the browser returns to the app, and directly if the user is signed in already', async (t) => {
  const { email, password } = await createUser(app);
  const person = await newPerson(browser, service);
  await signIn(person, email, password, page());
  await person.page.waitForURL(target);
  await person.page.goto(`${service.url}${page(`${origin}/again`)}`);
  await person.page.waitForURL(`${origin}/again`);

  const other = await newPerson(browser, service);
  await signIn(other, email, password, page('https://evil.example/'));
  await other.page.waitForURL(`${service.url}/account`);
  t.pass('a URL of another origin is ignored');
});

t.test('also with a second factor, and with a code or the link from an email', async (t) => {
  const strong = await createUser(app, { tfa: true });
  const first = await newPerson(browser, service);
  await signIn(first, strong.email, strong.password, page());
  await first.page.locator('#otp').fill(currentCode(rfcSecret.base32, service.clock.now()));
  await first.page.keyboard.press('Enter');
  await first.page.waitForURL(target);

  const { email } = await createUser(app);
  const second = await newPerson(browser, service);
  await second.open(page());
  await second.page.locator('#email').fill(email);
  await second.page.locator('[data-email-code]').click();
  await second.page.locator('#email-code-field').waitFor();
  const mail = (await mailsTo(app, email)).findLast((one) => findCode(one) !== undefined);
  if (!mail) return t.fail('there is no email');
  const { pathname, search } = linkIn(mail);
  const third = await newPerson(browser, service);
  await third.open(`${pathname}${search}`);
  await third.page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await third.page.waitForURL(target);
  t.match(codeIn(mail), /^\d{6}$/);
});
