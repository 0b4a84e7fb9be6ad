import t from 'tap';
import { newPerson, type Person, startBrowser, waitForOwnAccount } from '../helpers/browser.js';
import { startOpenIdProvider } from '../helpers/openid-provider.js';
import { asAdministrator, variables } from '../helpers/people.js';
import { createHome, freePort, startService } from '../helpers/service.js';

const port = String(await freePort());
// A different site than the provider, as in production. Its cookies must be sent anyway.
const publicUrl = `http://localhost:${port}`;
const provider = await startOpenIdProvider(t, { publicUrl, keys: ['example'] });
provider.setAccount('ada', {
  sub: 'ada',
  email: 'ada@example.com',
  email_verified: true,
  given_name: 'Ada',
  family_name: 'Lovelace',
});
const service = await startService(await createHome(t, { prepared: true }), {
  ...variables,
  PORT: port,
  PUBLIC_URL: publicUrl,
  AUTH_PROVIDERS: 'example',
  ...provider.variables('example', { LABEL: 'Example ID', ALLOW_PUBLIC_REGISTRATION: 'true' }),
});
const browser = await startBrowser(t);

async function someone(): Promise<Person> {
  const person = await newPerson(browser, service, { baseURL: publicUrl });
  // The pages of the provider load a font from another host.
  await person.context.route(/^https:/, (route) => route.abort());
  return person;
}

/** Goes from our page to the page of the provider. */
async function chooseProvider({ page }: Person): Promise<void> {
  await page.getByText('Example ID').click();
}

async function logInAtProvider({ page }: Person, name: string): Promise<void> {
  await page.waitForURL(`${provider.issuer}/interaction/**`);
  await page.locator('[name=login]').fill(name);
  await page.locator('[name=password]').fill('any will do');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

t.test('users can sign in by provider, for the first time and again', async (t) => {
  const person = await someone();
  const { page, context } = person;
  await person.open('/account/login');
  t.strictSame(person.complaints(), []);
  await chooseProvider(person);
  await logInAtProvider(person, 'ada');
  await waitForOwnAccount(person);
  t.equal(new URL(page.url()).origin, publicUrl);
  t.notMatch(page.url(), /code=|state=/);
  const cookies = (await context.cookies(publicUrl)).filter(({ name }) => name.startsWith('gatehouse'));
  t.strictSame(
    cookies.map(({ name, httpOnly, sameSite }) => ({ name, httpOnly, sameSite })),
    [{ name: 'gatehouse_session_token', httpOnly: true, sameSite: 'Lax' }],
  );
  const call = await asAdministrator(service);
  const found = (await call('SEARCH', '/users', { query: { filter: { provider: { _eq: 'example' } } } })) as unknown;
  t.match(found, [{ email: 'ada@example.com', external_identifier: 'ada', first_name: 'Ada', last_name: 'Lovelace' }]);

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(/\/account\/login/);
  await chooseProvider(person);
  await waitForOwnAccount(person);
  t.pass('the provider still has a session');
});

t.test('users who cancel at the provider return to the login page', async (t) => {
  const person = await someone();
  const { page, context } = person;
  await person.open('/account/login');
  await chooseProvider(person);
  await page.getByText('Cancel').click();
  await page.waitForURL((url) => url.origin === publicUrl && url.pathname.startsWith('/account/login'));
  t.ok((await person.said('alert')).length > 10, 'the page says why');
  t.strictSame(
    await context.cookies(publicUrl).then((all) => all.filter(({ name }) => name.includes('session_token'))),
    [],
  );
});
