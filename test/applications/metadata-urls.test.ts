// @suite embedded-only: hardly depends on the engine

import t from 'tap';
import { startTestApp } from '../helpers/service/app.js';

const names = ['openid-configuration', 'oauth-authorization-server'];

t.test('with a path in PUBLIC_URL, clients find the metadata in both ways (RFC 8414, 3.1)', async (t) => {
  const { get, request } = await startTestApp(t, { PUBLIC_URL: 'https://example.com/iam/auth/' });
  const issuer = 'https://example.com/iam/auth';
  for (const name of names) {
    // Below the path, as OpenID Connect Discovery specifies: the proxy removes the path.
    const appended = await get(`/.well-known/${name}`);
    t.equal(appended.statusCode, 200, name);
    t.match(appended.json(), { issuer, token_endpoint: `${issuer}/oauth/token` });
    // At the root of the host: the proxy forwards the URL as it is.
    const inserted = `/.well-known/${name}/iam/auth`;
    for (const url of [inserted, `${inserted}?x=/iam`]) {
      const response = await get(url);
      t.equal(response.statusCode, 200, url);
      t.strictSame(response.json(), appended.json(), url);
      t.equal(response.headers['cache-control'], appended.headers['cache-control'], url);
    }
    const fromPage = { origin: 'https://app.example.net' };
    t.equal((await get(inserted, fromPage)).headers['access-control-allow-origin'], fromPage.origin);
    const asked = { ...fromPage, 'access-control-request-method': 'GET' };
    const preflight = await request({ method: 'OPTIONS', url: inserted, headers: asked });
    t.equal(preflight.statusCode, 204);
    t.equal(preflight.headers['access-control-allow-origin'], fromPage.origin);
    for (const other of ['/iam', '/iam/auth/x', '/iam/authx', '/IAM/auth', '/other', '/iam/auth/../auth/x']) {
      const response = await get(`/.well-known/${name}${other}`);
      t.equal(response.statusCode, 404, other);
      t.match(response.json(), { error: 'invalid_request' }, other);
    }
    t.equal((await request({ method: 'POST', url: inserted })).statusCode, 404);
  }
});

t.test('whatever characters the path contains', async (t) => {
  for (const path of ['/a:b', '/a*', '/caf%C3%A9', '/a%2Fb']) {
    const { get } = await startTestApp(t, { PUBLIC_URL: `https://example.com${path}` });
    const response = await get(`/.well-known/oauth-authorization-server${path}`);
    t.equal(response.statusCode, 200, path);
    t.equal(response.json().issuer, `https://example.com${path}`);
    t.equal((await get('/.well-known/oauth-authorization-server/other')).statusCode, 404, path);
  }
});

t.test('without a path, there is one URL for each document', async (t) => {
  const { get } = await startTestApp(t, { PUBLIC_URL: 'https://example.com/' });
  for (const name of names) {
    t.equal((await get(`/.well-known/${name}`)).statusCode, 200);
    t.equal((await get(`/.well-known/${name}/iam`)).statusCode, 404);
  }
});
