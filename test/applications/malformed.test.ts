import t from 'tap';
import { redirectUri, startProvider } from '../helpers/applications/applications.js';
import { protocolOperations } from '../helpers/openapi/operations.js';
import { administrator } from '../helpers/users/credentials.js';
import { logIn } from '../helpers/users/sessions.js';

/** Requests that `fuzz.test.ts` found. All responses are checked against the OpenAPI document. */
const formType = { 'content-type': 'application/x-www-form-urlencoded' };

t.test('malformed requests', async (t) => {
  const provider = await startProvider(t);
  const { request } = provider;
  const { id, secret } = await provider.addClient();
  const authorization = `Basic ${btoa(`${id}:${secret}`)}`;
  const { headers } = await logIn(provider, 'session', administrator);

  t.test('a NUL character, which cannot be stored, is refused in every parameter', async (t) => {
    const form = { client_id: id, redirect_uri: redirectUri, response_type: 'code', scope: 'openid' };
    for (const name of ['state', 'nonce', 'login_hint', 'scope', 'unknown']) {
      const payload = new URLSearchParams({ ...form, [name]: 'a\0b' }).toString();
      const authorize = await request({ method: 'GET', url: `/oauth/authorize?${payload}`, headers });
      t.match(authorize.json(), { error: 'invalid_request' }, name);
      const url = '/oauth/par';
      const pushed = await request({ method: 'POST', url, headers: { ...formType, authorization }, payload });
      t.equal(pushed.statusCode, 400, name);
      t.match(pushed.json(), { error: 'invalid_request' }, name);
    }
    const payload = Buffer.from('token=a\0b');
    const revoked = await request({
      method: 'POST',
      url: '/oauth/revoke',
      headers: { ...formType, authorization },
      payload,
    });
    t.equal(revoked.statusCode, 400);
  });

  t.test('what only begins like a JWT is not an active token, and can be revoked', async (t) => {
    const header = Buffer.from('{"alg":"RS256","typ":"at+jwt"}').toString('base64url');
    for (const token of [
      header,
      `${header}.`,
      `${header}.a`,
      `${header}.a.b`,
      `${header}.a.b.c.d`,
      `${header}.a.b.${header}.a.b`,
    ]) {
      const send = (url: string) =>
        request({
          method: 'POST',
          url,
          headers: { ...formType, authorization },
          payload: new URLSearchParams({ token }).toString(),
        });
      t.strictSame((await send('/oauth/introspect')).json(), { active: false }, token);
      t.equal((await send('/oauth/revoke')).statusCode, 200, token);
    }
  });

  t.test('a URL with more slashes belongs to no endpoint', async (t) => {
    const response = await request({ method: 'GET', url: `/oauth/authorize//?client_id=${id}`, headers });
    t.equal(response.statusCode, 404);
    t.match(response.json(), { error: 'invalid_request' });
  });

  t.test(
    'unknown paths get an error of the protocol with every method, also without anything after the prefix',
    async (t) => {
      for (const method of ['GET', 'POST', 'OPTIONS'] as const) {
        for (const url of ['/oauth', '/oauth/', '/oauth/x']) {
          const response = await request({ method, url });
          t.equal(response.statusCode, 404, `${method} ${url}`);
          t.type(response.json().error, 'string', `${method} ${url}`);
        }
      }
    },
  );

  t.test('programs get errors as JSON, even if they would rather have a page', async (t) => {
    const rather = { accept: 'text/html;q=9, application/json;q=ÿ', ...formType, authorization };
    for (const name of ['token', 'par', 'device', 'introspect', 'revoke', 'userinfo']) {
      const response = await request({ method: 'POST', url: `/oauth/${name}`, headers: rather, payload: 'a=b' });
      t.ok(response.statusCode >= 400, name);
      t.match(response.headers['content-type'], /^application\/json/, name);
      t.type(response.json().error, 'string', name);
    }
    const userInfo = { method: 'GET', url: '/oauth/userinfo' } as const;
    const refused = await request({ ...userInfo, headers: { accept: 'text/html', authorization: 'Bearer unknown' } });
    t.equal(refused.statusCode, 401);
    t.match(refused.json(), { error: 'invalid_token' });
  });

  t.test('a body of another type, sent with the cookie of a session, is an invalid request', async (t) => {
    for (const { method, url } of protocolOperations().filter((operation) => (operation.method as string) === 'POST')) {
      const type = { 'content-type': 'multipart/form-data; boundary=x' };
      const response = await request({ method, url, headers: { ...headers, ...type, authorization }, payload: 'a=b' });
      t.equal(response.statusCode, 400, url);
      t.match(response.json(), { error: 'invalid_request' }, url);
    }
  });
});
