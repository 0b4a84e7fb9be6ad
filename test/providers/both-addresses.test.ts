import t from 'tap';
import { refused } from '../helpers/http/refusals.js';
import { startOauth2Server } from '../helpers/providers/oauth2-server.js';
import { providerVariables } from '../helpers/providers/openid-provider.js';
import { userBehind } from '../helpers/providers/provider-records.js';
import { refusedLogin, sentBack } from '../helpers/providers/refused-logins.js';
import {
  begin,
  completeLogin,
  createVisitor,
  followRedirect,
  type Start,
  startPath,
  submitForm,
} from '../helpers/providers/visitor.js';
import { json, startWebServer } from '../helpers/servers/web-server.js';
import { startTestApp } from '../helpers/service/app.js';
import { rfcSecret } from '../helpers/users/totp.js';
import { changeUser, createUser } from '../helpers/users/users.js';

/** A login can start and end on either route of the service, whichever callback URL the provider has. */

const publicUrl = 'https://gatehouse.example.com';
const keys = ['plain', 'wrong-secret', 'plain-form', 'wrong-secret-form'] as const;
const server = await startOauth2Server(t, { publicUrl, keys });
/** Serves the discovery document of another issuer. */
const stranger = await startWebServer(t, () => json({ issuer: 'https://another.example.com' }));
const open = { ALLOW_PUBLIC_REGISTRATION: 'true', MODE: 'json' };
const service = await startTestApp(t, {
  PUBLIC_URL: publicUrl,
  AUTH_PROVIDERS: [...keys, 'stranger'].join(','),
  ...server.variables('plain', open),
  ...server.variables('wrong-secret', { ...open, CLIENT_SECRET: 'not the secret' }),
  ...server.variables('plain-form', { ...open, RESPONSE_MODE: 'form_post' }),
  ...server.variables('wrong-secret-form', { ...open, RESPONSE_MODE: 'form_post', CLIENT_SECRET: 'not the secret' }),
  ...providerVariables('stranger', { DRIVER: 'openid', CLIENT_ID: 'x', CLIENT_SECRET: 'x', ISSUER_URL: stranger }),
});
const { app } = service;
let people = 0;

async function turnOnTfa(identifier: string, provider = 'plain') {
  const id = (await userBehind(app, provider, identifier))?.user.id ?? '';
  await changeUser(app, id, { tfaSecret: app.tfaSecrets.seal(rfcSecret.base32, id) });
}

function newPerson() {
  const id = ++people;
  server.profile = { id, login: `octo-${id}`, name: 'Mona Lisa', email: `octo-${id}@example.com` };
  return { id: String(id), email: `octo-${id}@example.com` };
}

for (const family of ['login', 'oauth'] as const) {
  for (const [how, suffix] of [
    ['with a redirect', ''],
    ['with a form', '-form'],
  ] as const) {
    /** A login that returns to the callback of this route. */
    const login = async (key: 'plain' | 'wrong-secret', start: Start) => {
      const visitor = { ...createVisitor(service, publicUrl), request: service.request };
      const returned = await followRedirect(await begin(visitor, `${key}${suffix}`, start));
      const url = returned.replace('/auth/login/', `/auth/${family}/`);
      if (suffix === '') return visitor.visit(url);
      const { origin, pathname, searchParams } = new URL(url);
      return submitForm(visitor, { url: `${origin}${pathname}`, fields: Object.fromEntries(searchParams) });
    };

    t.test(`a login can end at /auth/${family} ${how}`, async (t) => {
      newPerson();
      const tokens = await login('plain', { family: 'oauth' });
      t.equal(tokens.statusCode, 200, tokens.body);
      const sent = await login('plain', { redirect: '/welcome' });
      t.match([sent.statusCode, sent.headers.location], [302, '/welcome']);

      refusedLogin(t, await login('wrong-secret', { family: 'oauth' }), 'INVALID_PROVIDER_CONFIG', 'a wrong secret');
      sentBack(t, await login('wrong-secret', { redirect: '/a' }), '/a', 'INVALID_PROVIDER_CONFIG', 'a wrong secret');

      const { email } = newPerson();
      await createUser(app, { tfa: true, email });
      const taken = await login('plain', { family: 'oauth' });
      refusedLogin(t, taken, 'INVALID_PROVIDER', 'an address that is already in use');

      const person = newPerson();
      t.equal((await login('plain', { family: 'oauth' })).statusCode, 200);
      await turnOnTfa(person.id, `plain${suffix}`);
      refusedLogin(t, await login('plain', { family: 'oauth' }), 'INVALID_OTP', 'asked for a code');
    });
  }

  t.test(`the callback of an unknown provider does not exist at /auth/${family}`, async (t) => {
    const nowhere = await createVisitor(service, publicUrl).visit(`/auth/${family}/nobody/callback?code=x&state=x`);
    refused(t, nowhere, 'ROUTE_NOT_FOUND', 'an unknown provider');
  });

  t.test(`a login can start at /auth/${family}`, async (t) => {
    const visitor = createVisitor(service, publicUrl);
    t.match(await begin(visitor, 'plain', { family }), server.origin);
    refused(t, await visitor.visit(startPath('nobody', { family })), 'ROUTE_NOT_FOUND', 'an unknown provider');
    const misnamed = await visitor.visit(startPath('stranger', { family }));
    refused(t, misnamed, 'INVALID_PROVIDER_CONFIG', 'the discovery document of another issuer');
  });
}

t.test('after five wrong codes, further attempts are temporarily blocked', async (t) => {
  const { id } = newPerson();
  await completeLogin(createVisitor(service, publicUrl), 'plain', { family: 'oauth' }, followRedirect);
  await turnOnTfa(id);
  const visitor = createVisitor(service, publicUrl);
  await completeLogin(visitor, 'plain', { family: 'oauth' }, followRedirect);
  const send = () => visitor.send({ method: 'POST', url: '/auth/login/plain', payload: { otp: '000000' } });
  for (let attempt = 0; attempt < 5; attempt++) refused(t, await send(), 'INVALID_OTP', `attempt ${attempt}`);
  const response = await send();
  refused(t, response, 'REQUESTS_EXCEEDED', 'the sixth attempt');
  t.match(response.headers['retry-after'], /^\d+$/);
});
