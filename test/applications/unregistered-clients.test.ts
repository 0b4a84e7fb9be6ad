import type { RequestListener, ServerResponse } from 'node:http';
import * as oidc from 'openid-client';
import t from 'tap';
import { fails, startProvider } from '../helpers/applications/applications.js';
import { createJar, fetchWith } from '../helpers/browser/cookie-jar.js';
import { asAdmin, patch } from '../helpers/http/writing.js';
import { publicAddress, startPublicHosts } from '../helpers/servers/public-hosts.js';
import { administrator } from '../helpers/users/credentials.js';

const api = 'https://api.example.com/';
const closed = 'https://internal.example.com/';
const callback = 'https://agent.example.com/callback';
const agentName = 'An agent';

/** Client ID Metadata Documents, draft-ietf-oauth-client-id-metadata-document-02. */
t.test('clients that nobody registered', async (t) => {
  const hosts = await startPublicHosts(t);
  // The setting is for the URLs of registered clients only.
  const provider = await startProvider(t, { WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'true', TRUST_PROXY: '127.0.0.1' });
  const { url } = provider;
  await provider.addResource({ identifier: api, name: 'Notes', scopes: ['notes:read'], open_to_unregistered: true });
  await provider.addResource({ identifier: closed, scopes: ['secrets:read'] });
  const reader = await provider.discover(
    await provider.addClient({ resources: [api], grant_types: ['client_credentials'], redirect_uris: [] }),
  );
  const browser = await provider.browser(administrator);
  const allow = async (mode: string, list: string[] = []) => {
    const changes = { unregistered_clients: mode, unregistered_client_hosts: list };
    const { statusCode } = await patch(provider, '/settings', changes);
    if (statusCode !== 200) throw new Error(`The settings returned ${statusCode}`);
  };

  let published = 0;
  /** Publishes a document, and returns the client ID. @param listener responds in place of the document */
  const publish = (
    values: Record<string, unknown> = {},
    { host = 'agent.example.com', listener }: { host?: string; listener?: RequestListener } = {},
  ) => {
    const path = `/client-${++published}.json`;
    const id = `https://${host}:${hosts.port}${path}`;
    const document = { client_id: id, client_name: agentName, redirect_uris: [callback], ...values };
    const send: RequestListener = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
    };
    hosts.serve(`${host}${path}`, listener ?? send);
    return id;
  };
  const configure = (id: string) =>
    oidc.discovery(new URL(url), id, undefined, oidc.None(), { execute: [oidc.allowInsecureRequests] });
  const request = async (id: string, parameters: Record<string, string> = {}) =>
    oidc.buildAuthorizationUrl(await configure(id), {
      redirect_uri: callback,
      scope: 'openid',
      code_challenge: await oidc.calculatePKCECodeChallenge('v'.repeat(43)),
      code_challenge_method: 'S256',
      ...parameters,
    });
  /** The status of the first response to an authorization request. */
  const statusOf = async (id: string, parameters?: Record<string, string>) => {
    const { status } = await browser.fetch(await request(id, parameters), { redirect: 'manual' });
    return status;
  };
  const signIn = async (id: string, parameters: Record<string, string> = {}) => {
    const config = await configure(id);
    return { config, tokens: await browser.signIn(config, { redirect_uri: callback, ...parameters }) };
  };
  /** The page that asks for consent. */
  const consentPage = async (id: string, parameters?: Record<string, string>) => {
    const response = await browser.fetch(await request(id, parameters));
    return { path: new URL(response.url).pathname, html: await response.text() };
  };

  t.test('are refused by default, and no document is fetched', async (t) => {
    t.equal((await provider.get('/settings', asAdmin)).json().data.unregistered_clients, 'off');
    t.equal(await statusOf(publish()), 400);
    t.strictSame(hosts.requests, []);
    const metadata = await (await fetch(`${url}/.well-known/openid-configuration`)).json();
    t.notOk((metadata as Record<string, unknown>).client_id_metadata_document_supported);
    await allow('any');
    t.match(await (await fetch(`${url}/.well-known/oauth-authorization-server`)).json(), {
      client_id_metadata_document_supported: true,
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
    });
  });

  t.test('sign users in, and reach resources that are open to them', async (t) => {
    const id = publish();
    const { config, tokens } = await signIn(id, { scope: 'openid email offline_access', prompt: 'consent' });
    t.equal(tokens.claims()?.aud, id);
    t.match(await oidc.fetchUserInfo(config, tokens.access_token, tokens.claims()?.sub ?? ''), {
      email: administrator.email,
    });
    t.ok((await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '')).access_token);
    const forApi = await signIn(id, { scope: 'notes:read', resource: api });
    t.match(await oidc.tokenIntrospection(reader, forApi.tokens.access_token), {
      active: true,
      client_id: id,
      scope: 'notes:read',
    });
    await fails(t, signIn(id, { scope: 'secrets:read', resource: closed }), 'invalid_target');
    const { data } = (await (await browser.fetch(`${url}/users/me/grants`)).json()) as { data: object[] };
    t.match(data, [{ client: { id, name: agentName, logo_uri: null }, scopes: Array }]);
  });

  t.test('decide nothing about themselves but their name and their redirect URIs', async (t) => {
    const settings = { first_party: true, isRegistered: true, scopes: ['*'], resources: [], pkce_required: false };
    const id = publish({
      gatehouse: settings,
      first_party: true,
      grant_types: ['authorization_code', 'client_credentials', 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code', 'id_token'],
      scope: 'openid users:read *',
      post_logout_redirect_uris: ['https://agent.example.com/'],
      application_type: 'web',
      subject_type: 'pairwise',
    });
    t.match((await consentPage(id)).path, /^\/account\/authorize\//, 'the user is asked');
    await fails(t, signIn(id, { scope: 'openid users:read' }), 'invalid_scope');
    const config = await configure(id);
    await fails(t, oidc.clientCredentialsGrant(config, { resource: api }), 'invalid_request');
    await fails(t, oidc.initiateDeviceAuthorization(config, { scope: 'openid' }), 'invalid_request');
    const plain = await request(id, { nonce: 'n' });
    plain.searchParams.delete('code_challenge');
    plain.searchParams.delete('code_challenge_method');
    t.equal((await browser.authorize(plain)).searchParams.get('error'), 'invalid_request', 'PKCE is required');
    const end = new URL(`${url}/oauth/end-session`);
    end.search = String(new URLSearchParams({ client_id: id, post_logout_redirect_uri: 'https://agent.example.com/' }));
    const { status, headers } = await browser.fetch(end, { redirect: 'manual' });
    t.equal(status, 303);
    t.match(headers.get('location'), /^\/account\/sign-out/);
  });

  t.test('cannot pretend to be a known one', async (t) => {
    const name = '<b>Gatehouse</b>\u202e\u0000\r\n';
    const host = 'evil.example.net';
    const { html } = await consentPage(publish({ client_name: name }, { host }));
    t.match(html, `<p class="host">${host}:${hosts.port}</p>`);
    t.match(html, '&lt;b&gt;Gatehouse&lt;/b&gt;');
    t.notMatch(html, /\u202e|\0/);
    t.match(html, /agent\.example\.com/, 'the page says where the user will be sent');
    const mail = publish({ client_name: 'Gatehouse Mail' }, { host });
    for (const [page, send] of [
      ['sign-in', fetchWith(createJar()) as typeof fetch],
      ['second sign-in', browser.fetch],
    ] as const) {
      const signIn = await (await send(await request(mail, { prompt: 'login' }))).text();
      t.match(signIn, `${host}:${hosts.port}`, page);
      t.notMatch(signIn, 'Gatehouse Mail', page);
    }
    const to = `${url}/oauth/end-session?${new URLSearchParams({ client_id: mail })}`;
    const signOut = await (await browser.fetch(to)).text();
    t.match(signOut, `${host}:${hosts.port}`, 'the page that asks whether to sign out');
    t.notMatch(signOut, 'Gatehouse Mail');
    const css = /href="([^"]+\.css[^"]*)"/.exec(html)?.[1] ?? '';
    const style = await (await fetch(new URL(css, url))).text();
    const size = (selector: string) =>
      Number(new RegExp(`(?:^|\\})${selector}\\{[^}]*font-size:([\\d.]+)rem`).exec(style)?.[1]);
    t.ok(size('\\.host') >= size('h1'), `the host is at least as large: ${size('\\.host')} ≥ ${size('h1')}`);
  });

  t.test('cannot use the redirect URI, or the code, of another client', async (t) => {
    const [one, other] = [publish(), publish({ redirect_uris: ['https://other.example.com/callback'] })];
    const registered = await provider.addClient({ redirect_uris: ['https://known.example.com/callback'] });
    for (const redirect_uri of [
      'https://other.example.com/callback',
      'https://known.example.com/callback',
      `${callback}/`,
      `${callback}?x`,
    ]) {
      t.equal(await statusOf(one, { redirect_uri }), 400, redirect_uri);
    }
    const code = (await browser.authorize(await request(one))).searchParams.get('code') ?? '';
    for (const [client_id, secret] of [[other], [registered.id, registered.secret]] as const) {
      const form = { grant_type: 'authorization_code', code, redirect_uri: callback, code_verifier: 'v'.repeat(43) };
      const response = await fetch(`${url}/oauth/token`, {
        method: 'POST',
        body: new URLSearchParams({
          ...form,
          client_id: client_id ?? '',
          ...(secret ? { client_secret: secret } : {}),
        }),
      });
      t.match(await response.json(), { error: 'invalid_grant' });
    }
    for (const uri of [
      'https://known.example.com@evil.example.net/',
      'http://evil.example.net/',
      'javascript:alert(1)',
      'data:text/html,x',
      'agent:/callback',
      'https://agent.example.com/*',
      'https://agent.example.com/\\@evil.example.net',
    ]) {
      t.equal(await statusOf(publish({ redirect_uris: [uri] }), { redirect_uri: uri }), 400, uri);
    }
    const loopback = 'http://127.0.0.1/callback';
    const redirect_uri = 'http://127.0.0.1:49152/callback';
    t.equal(await statusOf(publish({ redirect_uris: [loopback] }), { redirect_uri }), 303, 'any port of this device');
  });

  t.test('must publish a valid document', async (t) => {
    const respond =
      (type: string, body: string, status = 200): RequestListener =>
      (_request, response) =>
        response.writeHead(status, type === '' ? {} : { 'content-type': type }).end(body);
    const document = (id: string) => JSON.stringify({ client_id: id, client_name: 'x', redirect_uris: [callback] });
    const idOf = () => `https://agent.example.com:${hosts.port}/client-${published + 1}.json`;
    const cases: [string, () => string, status?: number][] = [
      [
        'with a JSON content type',
        () => publish({}, { listener: respond('application/json; charset=utf-8', document(idOf())) }),
        303,
      ],
      [
        'with a subtype of JSON',
        () => publish({}, { listener: respond('application/cimd+json', document(idOf())) }),
        303,
      ],
      ['not as HTML', () => publish({}, { listener: respond('text/html', document(idOf())) })],
      ['not as JavaScript', () => publish({}, { listener: respond('application/jsonp', document(idOf())) })],
      ['not without a content type', () => publish({}, { listener: respond('', document(idOf())) })],
      ['not with an error', () => publish({}, { listener: respond('application/json', document(idOf()), 404) })],
      ['not incomplete', () => publish({}, { listener: respond('application/json', '{') })],
      ['not as a list', () => publish({}, { listener: respond('application/json', '[]') })],
      ['not for another client ID', () => publish({ client_id: 'https://known.example.com/' })],
      ['not with a secret', () => publish({ client_secret: 'x'.repeat(40) })],
      ['not with a secret as authentication', () => publish({ token_endpoint_auth_method: 'client_secret_post' })],
      ['not without a redirect URI', () => publish({ redirect_uris: [] })],
      ['not with a redirect URI of another type', () => publish({ redirect_uris: [{}] })],
    ];
    for (const [what, start, status = 400] of cases) t.equal(await statusOf(start()), status, what);
    for (const id of [
      `http://agent.example.com:${hosts.port}/client-1.json`,
      `https://ada@agent.example.com:${hosts.port}/client-1.json`,
      `https://agent.example.com:${hosts.port}/client-1.json#x`,
      `https://agent.example.com:${hosts.port}/x/../client-1.json`,
      'https://',
    ]) {
      t.equal(await statusOf(id), 400, id);
    }
  });

  t.test('are not fetched from addresses that are not public', async (t) => {
    const hosted = (host: string) => publish({}, { host });
    for (const list of [['127.0.0.1'], [publicAddress, '127.0.0.1'], ['::1'], ['169.254.169.254'], ['10.0.0.1']]) {
      const host = `h${list.join('-').replaceAll(/[.:]/g, '-')}.example.com`;
      hosts.resolve(host, list);
      t.equal(await statusOf(hosted(host)), 400, list.join());
    }
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '0x7f.1', '[::ffff:127.0.0.1]']) {
      hosts.serve(`${host}/client.json`, (_request, response) => response.end());
      t.equal(await statusOf(`https://${host}:${hosts.port}/client.json`), 400, host);
    }
    t.notOk(
      hosts.requests.some((page) => /^(?:h[\d-]|127|localhost|\[|0x)/.test(page)),
      'nothing was requested',
    );

    const host = 'rebinding.example.com';
    hosts.resolve(host, [publicAddress], ['127.0.0.1']);
    t.equal(await statusOf(hosted(host)), 303, 'the address that was checked');
    t.equal(await statusOf(hosted(host)), 400, 'when the name leads elsewhere');
    t.equal(hosts.requests.filter((page) => page.startsWith(host)).length, 1);
  });

  t.test('are not fetched through a redirect', async (t) => {
    const path = '/redirected.json';
    for (const host of ['agent.example.com', 'other.example.com', '127.0.0.1']) {
      const location = `https://${host}:${hosts.port}${path}`;
      const listener: RequestListener = (_request, response) => response.writeHead(302, { location }).end();
      const id = publish({}, { listener });
      // The document is valid, so the client would be accepted if the redirect were followed.
      hosts.serve(`${host}${path}`, (_request, response) => {
        const document = { client_id: id, client_name: agentName, redirect_uris: [callback] };
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
      });
      t.equal(await statusOf(id), 400, location);
      t.ok(hosts.requests.includes(`agent.example.com${new URL(id).pathname}`), 'the document was requested');
    }
    t.strictSame(
      hosts.requests.filter((page) => page.endsWith(path)),
      [],
    );
  });

  t.test('cannot keep the service busy with a document that is too large, or never ends', async (t) => {
    const open = new Set<string>();
    let sent = 0;
    const endless: RequestListener = (request, response) => {
      open.add(request.url ?? '');
      response.writeHead(200, { 'content-type': 'application/json' });
      const size = request.url?.includes('slow') ? 1 : 10_000;
      const timer = setInterval(() => {
        sent += size;
        response.write(' '.repeat(size));
      }, 20);
      response.on('close', () => {
        clearInterval(timer);
        open.delete(request.url ?? '');
      });
    };
    const large = publish({ client_name: 'x'.repeat(6_000) });
    t.equal(await statusOf(large), 400);
    hosts.serve('agent.example.com/slow.json', endless);
    const slow = `https://agent.example.com:${hosts.port}/slow.json`;
    const started = performance.now();
    const both = await Promise.all([statusOf(publish({}, { listener: endless })), statusOf(slow), statusOf(slow)]);
    t.strictSame(both, [400, 400, 400]);
    t.ok(performance.now() - started < 10_000);
    for (let tries = 0; tries < 40 && open.size > 0; tries++) await new Promise((resolve) => setTimeout(resolve, 50));
    t.equal(open.size, 0, 'the connections are closed');
    t.ok(sent < 500_000, `${sent} bytes were sent before the size was refused`);
    t.equal(hosts.requests.filter((page) => page.endsWith('/slow.json')).length, 1, 'one fetch at a time');
  });

  t.test('cannot make the service fetch many documents at the same time, or hold many requests', async (t) => {
    const held = new Set<ServerResponse>();
    let most = 0;
    let fetches = 0;
    const hold: RequestListener = (_request, response) => {
      fetches++;
      held.add(response);
      most = Math.max(most, held.size);
      response.on('close', () => held.delete(response));
    };
    const known = publish();
    t.equal(await statusOf(known), 303);
    const template = await request(known);
    /** Sends an anonymous authorization request. @returns its status */
    const send = async (id: string, address: string) => {
      const to = new URL(template);
      to.searchParams.set('client_id', id);
      const response = await fetch(to, { headers: { 'x-forwarded-for': address }, redirect: 'manual' });
      if (response.status === 429) t.match(response.headers.get('retry-after'), /^\d+$/);
      await response.arrayBuffer();
      return response.status;
    };
    const counted = (statuses: number[]) => {
      const refused = statuses.filter((status) => status === 429).length;
      return { refused, other: statuses.filter((status) => status !== 429 && status !== 400) };
    };

    const different = Array.from({ length: 40 }, () => publish({}, { listener: hold }));
    const ofOne = counted(await Promise.all(different.map((id) => send(id, '192.0.2.1'))));
    t.ok(ofOne.refused > 0, `${ofOne.refused} of 40 requests were refused`);
    t.strictSame(ofOne.other, []);
    t.equal(most, 5, 'documents at the same time for one address');
    t.equal(fetches, 40 - ofOne.refused);

    most = 0;
    const addresses = Array.from({ length: 30 }, (_, index) => `198.51.100.${index}`);
    const flood = addresses.flatMap((address) =>
      [0, 1, 2, 3].map(() => send(publish({}, { listener: hold }), address)),
    );
    for (let tries = 0; held.size < 10 && tries < 500; tries++) await new Promise((resolve) => setTimeout(resolve, 10));
    const registered = new URL(template);
    registered.searchParams.set('client_id', (await provider.addClient({ redirect_uris: [callback] })).id);
    const during = { headers: { 'x-forwarded-for': '198.51.100.1' }, redirect: 'manual' } as const;
    t.equal((await fetch(registered, during)).status, 303, 'registered clients work meanwhile');
    t.equal(await send(known, '198.51.100.1'), 303, 'as do those whose document is cached');
    const ofAll = counted(await Promise.all(flood));
    t.strictSame(ofAll.other, []);
    t.ok(most <= 50, `${most} documents at the same time for all addresses`);
    // A machine under load may not process as many at the same time.
    t.ok(most < 50 || ofAll.refused > 0, `${ofAll.refused} of 120 requests were refused`);

    fetches = 0;
    const same = publish({}, { listener: hold });
    const ofSame = counted(await Promise.all(Array.from({ length: 40 }, () => send(same, '192.0.2.2'))));
    t.ok(ofSame.refused > 0, `${ofSame.refused} of 40 requests for one document were refused`);
    t.equal(fetches, 1);
    t.equal(await statusOf(publish()), 303, 'everything has been released');
  });

  t.test('are not fetched again for a while after a failure', async (t) => {
    let fetches = 0;
    let works = false;
    const id = `https://agent.example.com:${hosts.port}/failing.json`;
    hosts.serve('agent.example.com/failing.json', (_request, response) => {
      fetches++;
      const document = { client_id: works ? id : 'another', client_name: agentName, redirect_uris: [callback] };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
    });
    for (let tries = 0; tries < 5; tries++) t.equal(await statusOf(id), 400);
    const form = { grant_type: 'authorization_code', client_id: id, code: 'x', redirect_uri: callback };
    const refused = await fetch(`${url}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) });
    t.match(await refused.json(), { error: 'invalid_client' });
    t.equal(fetches, 1);
    works = true;
    t.equal(await statusOf(id), 400);
    provider.clock.advance(31_000);
    t.equal(await statusOf(id), 303);
    t.equal(fetches, 2);
  });

  t.test('can be decided about when their document is no longer cached', async (t) => {
    const { now } = Date;
    t.teardown(() => Object.assign(Date, { now }));
    const id = publish();
    const { path } = await consentPage(id, { prompt: 'consent' });
    Object.assign(Date, { now: () => now() + 31_000 });
    t.equal((await browser.fetch(`${url}${path}`)).status, 200, 'the page');
    Object.assign(Date, { now: () => now() + 62_000 });
    const decided = await browser.fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ allow: true }),
    });
    t.equal(decided.status, 200, 'the decision');
    Object.assign(Date, { now: () => now() + 93_000 });
    hosts.serve(new URL(id).host.replace(/:.*/, new URL(id).pathname), (_request, response) =>
      response.writeHead(404).end(),
    );
    t.equal((await browser.fetch(`${url}${path}`)).status, 404, 'but not when it cannot be fetched any longer');
  });

  t.test('are fetched again after the time that they allow, and the user is asked again after a change', async (t) => {
    const { now } = Date;
    t.teardown(() => Object.assign(Date, { now }));
    const wait = (seconds: number) => Object.assign(Date, { now: () => now() + seconds * 1_000 });
    let name = 'Before';
    const path = `agent.example.com/changing.json`;
    const id = `https://agent.example.com:${hosts.port}/changing.json`;
    hosts.serve(path, (_request, response) => {
      const body = JSON.stringify({ client_id: id, client_name: name, redirect_uris: [callback] });
      response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'max-age=1' }).end(body);
    });
    const fetched = () => hosts.requests.filter((page) => page === path).length;
    await signIn(id);
    t.equal((await browser.authorize(await request(id, { prompt: 'none' }))).searchParams.get('error'), null);
    t.equal(fetched(), 1, 'for at least 30 seconds');
    name = 'After';
    wait(31);
    const again = await browser.authorize(await request(id, { prompt: 'none' }));
    t.equal(fetched(), 2);
    t.equal(again.searchParams.get('error'), 'consent_required');
  });

  t.test('work in a browser from the origins of their redirect URIs', async (t) => {
    const app = 'com.example.agent:/callback';
    const { tokens } = await signIn(publish({ redirect_uris: [callback, app] }));
    for (const [origin, allowed] of [
      ['https://agent.example.com', 'https://agent.example.com'],
      ['https://evil.example.net', null],
      // Sandboxed frames and files of any site have this origin, and so does the URL of an app.
      ['null', null],
    ] as const) {
      const headers = { origin, authorization: `Bearer ${tokens.access_token}` };
      const response = await fetch(`${url}/oauth/userinfo`, { headers });
      t.equal(response.headers.get('access-control-allow-origin'), allowed, origin);
    }
  });

  t.test('lose their access on the next request when the setting no longer allows them', async (t) => {
    const host = 'listed.example.com';
    const listed = [`${host}:${hosts.port}`];
    await allow('listed', listed);
    const id = publish({}, { host });
    t.equal(await statusOf(publish()), 400, 'a host that is not listed');
    t.equal(
      hosts.requests.some((page) => page === `agent.example.com/client-${published}.json`),
      false,
    );
    const { config, tokens } = await signIn(id, { scope: 'openid offline_access', prompt: 'consent' });
    const forApi = await signIn(id, { scope: 'notes:read', resource: api });
    const works = async () => ({
      userinfo: await oidc.fetchUserInfo(config, tokens.access_token, tokens.claims()?.sub ?? '').then(
        () => true,
        () => false,
      ),
      introspection: (await oidc.tokenIntrospection(reader, forApi.tokens.access_token)).active,
      refresh: await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '').then(
        () => true,
        () => false,
      ),
      authorization: (await statusOf(id)) === 303,
    });
    const all = { userinfo: true, introspection: true, refresh: true, authorization: true };
    const none = { userinfo: false, introspection: false, refresh: false, authorization: false };
    t.strictSame(await works(), all);
    for (const [mode, list] of [
      ['listed', ['other.example.com']],
      ['listed', [host]],
      ['off', listed],
    ] as const) {
      await allow(mode, [...list]);
      t.strictSame(await works(), none, `${mode} ${list}`);
      await allow('listed', listed);
      t.equal((await oidc.tokenIntrospection(reader, forApi.tokens.access_token)).active, true);
    }
  });
});
