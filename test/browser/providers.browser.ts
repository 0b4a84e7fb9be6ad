import t from 'tap';
import { newPerson, type Person, startBrowser, waitForOwnAccount } from '../helpers/browser/browser.js';
import { startHostileIssuers } from '../helpers/providers/hostile-provider.js';
import { startOpenIdProvider } from '../helpers/providers/openid-provider.js';
import { freePort } from '../helpers/servers/ports.js';
import { startTlsProxy } from '../helpers/servers/tls-proxy.js';
import { createHome, startService } from '../helpers/service/service.js';
import { asAdministrator, variables } from '../helpers/users/over-http.js';

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
    [
      { name: 'gatehouse_known_browser', httpOnly: true, sameSite: 'Lax' },
      { name: 'gatehouse_session_token', httpOnly: true, sameSite: 'Lax' },
    ],
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

t.test('with SameSite=Strict, users who return from the provider are signed in', async (t) => {
  const strictPort = String(await freePort());
  const strictUrl = `http://localhost:${strictPort}`;
  const strictProvider = await startOpenIdProvider(t, { publicUrl: strictUrl, keys: ['example'] });
  const account = (name: string) => ({ sub: name, email: `${name}@example.com`, email_verified: true });
  strictProvider.setAccount('strict', { ...account('strict'), given_name: 'Strict' });
  strictProvider.setAccount('second', account('second'));
  const strict = await startService(await createHome(t, { prepared: true }), {
    ...variables,
    PORT: strictPort,
    PUBLIC_URL: strictUrl,
    SESSION_COOKIE_SAME_SITE: 'strict',
    REFRESH_TOKEN_COOKIE_SAME_SITE: 'strict',
    AUTH_PROVIDERS: 'example',
    ...strictProvider.variables('example', { LABEL: 'Example ID', ALLOW_PUBLIC_REGISTRATION: 'true' }),
  });
  const person = await newPerson(browser, strict, { baseURL: strictUrl });
  const { page, context } = person;
  await context.route(/^https:/, (route) => route.abort());
  const atProvider = async (name: string) => {
    await page.waitForURL(`${strictProvider.issuer}/interaction/**`);
    await page.locator('[name=login]').fill(name);
    await page.locator('[name=password]').fill('any will do');
    await page.getByRole('button', { name: 'Sign-in' }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
  };

  await person.open('/account/login');
  await chooseProvider(person);
  await atProvider('strict');
  await waitForOwnAccount(person);
  await page.getByText('Strict', { exact: false }).first().waitFor();
  const [cookie] = (await context.cookies(strictUrl)).filter(({ name }) => name === 'gatehouse_session_token');
  t.equal(cookie?.sameSite, 'Strict');

  for (const path of ['/account/security', '/account/login', '/', '/auth/login/example']) {
    await page.goto(strictProvider.issuer);
    await page.evaluate(`location.assign(${JSON.stringify(`${strictUrl}${path}`)})`);
    await page.waitForURL((url) => url.origin === strictUrl && /^\/account(\/security)?$/.test(url.pathname));
    await waitForOwnAccount(person);
    t.pass(`a link of another site to ${path}`);
  }

  const visitor = await newPerson(browser, strict, { baseURL: strictUrl });
  await visitor.context.route(/^https:/, (route) => route.abort());
  for (const path of ['/account/security', '/account/login', '/']) {
    await visitor.page.goto(strictProvider.issuer);
    await visitor.page.evaluate(`location.assign(${JSON.stringify(`${strictUrl}${path}`)})`);
    await visitor.page.waitForURL((url) => url.origin === strictUrl && url.pathname === '/account/login');
    await visitor.page.locator('#email').waitFor();
    t.pass(`a visitor who is not signed in can sign in: ${path}`);
  }
});

t.test('a provider that submits a form signs users in, with and without SameSite=Strict', async (t) => {
  const { apple } = await startHostileIssuers(t, ['apple']);
  apple.lies = {
    callback: (truth) =>
      new URLSearchParams([...truth, ['user', '{"name":{"firstName":"Ada","lastName":"Lovelace"}}']]),
  };
  for (const sameSite of ['lax', 'strict'] as const) {
    const [plainPort, tlsPort] = [await freePort(), await freePort()];
    const secureUrl = `https://localhost:${tlsPort}`;
    const secure = await startService(await createHome(t, { prepared: true }), {
      ...variables,
      PORT: String(plainPort),
      PUBLIC_URL: secureUrl,
      SESSION_COOKIE_SAME_SITE: sameSite,
      AUTH_PROVIDERS: 'apple',
      ...apple.variables('apple', { LABEL: 'Apple', RESPONSE_MODE: 'form_post' }),
    });
    await startTlsProxy(t, tlsPort, plainPort);
    apple.useNewUser({ given_name: undefined, family_name: undefined, email_verified: 'true' });
    const person = await newPerson(browser, secure, { baseURL: secureUrl, ignoreHTTPSErrors: true });
    await person.open('/account/login');
    await person.page.getByText('Apple').click();
    await waitForOwnAccount(person);
    await person.page.getByText('Ada').first().waitFor();
    const cookies = (await person.context.cookies(secureUrl)).map(({ name, sameSite }) => [name, sameSite]);
    const expected = sameSite === 'lax' ? 'Lax' : 'Strict';
    t.strictSame(
      cookies.filter(([name]) => name?.includes('gatehouse_')),
      [
        ['__Host-gatehouse_known_browser', 'Lax'],
        ['__Host-gatehouse_session_token', expected],
      ],
      'the cookies of the login are removed',
    );
  }
});
