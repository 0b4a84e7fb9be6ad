import type { Mutation } from './mutation.js';

const browser = ['test/applications/attacks-browser.test.ts'];
const tokens = ['test/applications/attacks-tokens.test.ts'];
const devices = ['test/applications/devices.test.ts'];
const unregistered = ['test/applications/unregistered-clients.test.ts'];
const ownApi = ['test/applications/own-api.test.ts'];
const logout = ['test/applications/logout-notices.test.ts'];
const actor = ['test/applications/actor.test.ts'];
const malformed = ['test/applications/malformed.test.ts'];
const kills = ['test/process/application-kills.test.ts'];

/** Signing in to applications, and what they do for users. */
export const applications: readonly Mutation[] = [
  {
    ids: [],
    fault: 'a request without a redirect URI uses the only one of the client',
    edits: [
      {
        find: 'allowOmittingSingleRegisteredRedirectUri: false,',
        replace: 'allowOmittingSingleRegisteredRedirectUri: true,',
      },
    ],
    tests: browser,
  },
  {
    ids: [],
    fault: 'PKCE is optional for every client',
    edits: [
      {
        find: 'pkce: { required: (_ctx, client) => settingsOf(client).pkce_required },',
        replace: 'pkce: { required: () => false },',
      },
    ],
    tests: browser,
  },
  {
    ids: [],
    fault: 'a client without PKCE does not have to send a nonce',
    edits: [
      {
        in: 'completeScopes',
        find: "if (!settings.pkce_required && !params.code_challenge && !params.nonce && route !== 'device_authorization')",
        replace: 'if (!params.client_id)',
      },
    ],
    tests: browser,
  },
  {
    ids: [],
    fault: 'signing out redirects to any URL',
    edits: [
      {
        find: 'client && uri !== undefined && client.postLogoutRedirectUriAllowed(uri) ? withState(uri, state) : null',
        replace: 'client && uri !== undefined ? withState(uri, state) : null',
      },
    ],
    tests: browser,
  },
  {
    ids: [],
    fault: 'the ID token of any user signs out the one in the browser',
    edits: [
      {
        find: 'isCertain: proof !== undefined && (session === null || isOfSession),',
        replace: 'isCertain: proof !== undefined,',
      },
    ],
    tests: browser,
  },
  {
    ids: [],
    fault: 'a request without an ID token signs the user out',
    edits: [
      {
        find: 'isCertain: proof !== undefined && (session === null || isOfSession),',
        replace: 'isCertain: proof === undefined || session === null || isOfSession,',
      },
    ],
    tests: browser,
  },
  {
    ids: [],
    fault: 'other sites can give consent',
    edits: [
      {
        under: 'routes/pages/authorize.ts',
        find: 'request.requireOwnSite();',
        replace: '',
      },
      {
        under: 'plugins/http/csrf.ts',
        find: 'if (!Object.keys(request.cookies).some((name) => ownCookies.has(name))) return;',
        replace: 'return;',
      },
    ],
    tests: browser,
  },
  {
    ids: [],
    fault: 'other sites can connect devices',
    edits: [
      {
        under: 'routes/pages/device.ts',
        find: 'request.requireOwnSite();',
        replace: '',
      },
      {
        under: 'plugins/http/csrf.ts',
        find: 'if (!Object.keys(request.cookies).some((name) => ownCookies.has(name))) return;',
        replace: 'return;',
      },
    ],
    tests: browser,
  },
  {
    ids: [],
    fault: 'a request can be continued in another browser',
    edits: [
      {
        under: 'plugins/applications/authorization-requests.ts',
        find: 'browserIds.includes(id) ? find(id, from) : undefined',
        replace: 'browserIds.includes("") ? undefined : find(id, from)',
      },
    ],
    tests: browser,
  },
  {
    ids: [],
    fault: 'a locked client can still authenticate',
    edits: [
      {
        in: 'createSecretCheck',
        find: 'if (lockedUntil > now.getTime()) throw lockedError(limit, null, lockedUntil - now.getTime(), now);',
        replace: 'if (lockedUntil === -1) throw lockedError(limit, null, 0, now);',
      },
    ],
    tests: tokens,
  },
  {
    ids: [],
    fault: 'wrong secrets are not counted',
    edits: [
      {
        in: 'createSecretCheck',
        find: 'const { isAllowed } = await reserveAttempts',
        replace: 'const { isAllowed } = limit > 0 ? { isAllowed: true } : await reserveAttempts',
      },
    ],
    tests: tokens,
  },
  {
    ids: [],
    fault: 'wrong codes of devices are not counted',
    edits: [
      {
        in: 'createDevices',
        find: "if (!found) throw new ApiError('FORBIDDEN'); await withdraw();",
        replace: "await withdraw(); if (!found) throw new ApiError('FORBIDDEN');",
      },
    ],
    tests: devices,
  },
  {
    ids: [],
    fault: 'codes of devices are counted after they have been looked up',
    edits: [
      {
        in: 'createDevices',
        find: 'const { counted } = await lockouts.reserve(subject, keys, network, state.isKnown);',
        replace:
          'const early = isRestricted ? undefined : await findRequest(userCode); if (early) return early; const { counted } = await lockouts.reserve(subject, keys, network, state.isKnown);',
      },
    ],
    tests: devices,
  },
  {
    ids: [],
    fault: 'any secret is accepted',
    edits: [
      {
        in: 'isSecretAmong',
        find: '.includes(true)',
        replace: '.length > 0',
      },
    ],
    tests: tokens,
  },
  {
    ids: [],
    fault: 'the ID of a client can be spelled in another way',
    edits: [
      {
        in: 'createClientDirectory',
        find: 'return client?.id === id ? metadataOf(client) : undefined;',
        replace: 'return client ? metadataOf(client) : undefined;',
      },
    ],
    tests: tokens,
  },
  {
    ids: [],
    fault: 'a token exchange can give more scopes',
    edits: [
      {
        in: 'allowTokenExchange',
        find: 'const excess = asked.filter((scope) => !limit.includes(scope));',
        replace: 'const excess: string[] = [];',
      },
    ],
    tests: tokens,
  },
  {
    ids: [],
    fault: 'an exchanged token lives longer than its source',
    edits: [
      {
        in: 'allowTokenExchange',
        find: 'expiresIn: Math.min(left, info?.accessTokenTTL ?? own),',
        replace: 'expiresIn: Math.max(left, info?.accessTokenTTL ?? own),',
      },
    ],
    tests: tokens,
  },
  {
    ids: [],
    fault: 'a token that is bound to a key can be exchanged',
    edits: [
      {
        in: 'allowTokenExchange',
        find: 'if (!subject?.accountId || !source || !listsAudience || subject.jkt || left < 1)',
        replace: 'if (!subject?.accountId || !source || !listsAudience || left < 1)',
      },
    ],
    tests: tokens,
  },
  {
    ids: [],
    fault: 'a token for a resource that the client does not list can be exchanged',
    edits: [
      {
        in: 'allowTokenExchange',
        find: 'if (!subject?.accountId || !source || !listsAudience || subject.jkt || left < 1)',
        replace: 'if (!subject?.accountId || !source || (!listsAudience && left < 0) || subject.jkt || left < 1)',
      },
    ],
    tests: tokens,
  },
  {
    ids: [],
    fault: 'an exchanged token outlives the session of its source',
    edits: [
      {
        in: 'createProviderRecords',
        find: 'offline: parent ? parent.offline : isOffline,',
        replace: 'offline: parent !== undefined || isOffline,',
      },
    ],
    tests: ['test/applications/endings.test.ts'],
  },
  {
    ids: [],
    fault: 'the chain of actors is not limited',
    edits: [
      {
        in: 'allowTokenExchange',
        find: 'if (actorsIn(extra.act) >= maxActors)',
        replace: 'if (actorsIn(extra.act) >= 100)',
      },
    ],
    tests: ['test/applications/tokens.test.ts'],
  },
  {
    ids: [],
    fault: 'clients can introspect the tokens of all others',
    edits: [
      {
        find: "clientId === id || (type === 'confidential' && ",
        replace: "clientId !== undefined || (type === 'confidential' && ",
      },
    ],
    tests: ['test/applications/tokens.test.ts'],
  },
  {
    ids: [],
    fault: 'clients can revoke the tokens of others',
    edits: [
      {
        in: 'configure',
        find: 'revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },',
        replace: 'revocation: { enabled: true, allowedPolicy: () => true },',
      },
    ],
    tests: ['test/applications/tokens.test.ts'],
  },
  {
    ids: [],
    fault: 'documents of clients are fetched from private addresses',
    edits: [
      {
        under: 'plugins/applications/provider/index.ts',
        find: 'allows: isPublicAddress,',
        replace: 'allows: (address) => isPublicAddress(address) || true,',
      },
    ],
    tests: unregistered,
  },
  {
    ids: [],
    fault: 'redirects of documents of clients are followed',
    edits: [
      {
        under: 'plugins/applications/provider/index.ts',
        find: 'const response = await request(String(url), {',
        replace:
          "const follow: typeof request = async (to, options) => { const first = await request(to, options); const next = first.headers.get('location'); return next === null ? first : request(next, options); }; const response = await follow(String(url), {",
      },
    ],
    tests: unregistered,
  },
  {
    ids: [],
    fault: 'documents of clients can be of any size',
    edits: [
      {
        under: 'plugins/applications/provider/index.ts',
        find: 'maxBytes: maxResponseBytes,',
        replace: 'maxBytes: Number.MAX_SAFE_INTEGER + 0 * maxResponseBytes,',
      },
    ],
    tests: unregistered,
  },
  {
    ids: [],
    fault: 'the sign-in page shows the name that an unregistered client has chosen',
    edits: [{ in: 'displayedClient', find: 'label: host ?? name', replace: 'label: name' }],
    tests: unregistered,
  },
  {
    ids: [],
    fault: 'pages with an opaque origin can use the tokens of an unregistered client',
    edits: [
      {
        in: 'configure',
        find: 'webUrl(uri)?.origin === origin',
        replace: "(webUrl(uri)?.origin ?? 'null') === origin",
      },
    ],
    tests: unregistered,
  },
  {
    ids: [],
    fault: 'documents of clients can be of any type',
    edits: [
      {
        under: 'plugins/applications/provider/index.ts',
        find: "if (method === 'GET' && !/^application",
        replace: "if (method === 'PUT' && !/^application",
      },
    ],
    tests: unregistered,
  },
  {
    ids: [],
    fault: 'clients that nobody registered can decide that they are first-party',
    edits: [
      {
        in: 'restrictMetadata',
        find: '[settingsProperty]: settings,',
        replace: '[settingsProperty]: { ...settings, ...(given as object) },',
      },
      {
        in: 'restrictMetadata',
        find: 'for (const name of Object.keys(metadata)) if (!usedProperties.has(name)) delete metadata[name];',
        replace:
          'const { [settingsProperty]: given } = metadata; for (const name of Object.keys(metadata)) if (!usedProperties.has(name)) delete metadata[name];',
      },
    ],
    tests: unregistered,
  },
  {
    ids: [],
    fault: 'clients that nobody registered can use any grant type',
    edits: [
      {
        in: 'restrictMetadata',
        find: "grant_types: ['authorization_code', 'refresh_token'],",
        replace: "grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],",
      },
    ],
    tests: unregistered,
  },
  {
    ids: [],
    fault: 'clients that nobody registered can redirect to any URI',
    edits: [
      {
        in: 'restrictMetadata',
        find: 'if (Array.isArray(uris) && uris.some(isRefused))',
        replace: 'if (Array.isArray(uris) && uris.length > 1_000 && uris.some(isRefused))',
      },
    ],
    tests: unregistered,
  },
  {
    ids: [],
    fault: 'the name of a client can contain characters that change how the page is displayed',
    edits: [
      {
        in: 'restrictMetadata',
        find: "name.replaceAll(invisible, '')",
        replace: 'name.replaceAll(invisible, (found) => found)',
      },
    ],
    tests: unregistered,
  },
  {
    ids: [],
    fault: 'the page does not show the host of a client that nobody registered',
    edits: [
      {
        in: 'displayedClient',
        find: 'const host = isMetadataUrl(client.clientId) ? new URL(client.clientId).host : null;',
        replace: 'const host = isMetadataUrl(client.clientId) && client.clientId === "" ? "" : null;',
      },
    ],
    tests: unregistered,
  },
  {
    ids: [],
    fault: 'consent lasts although the document of the client has changed',
    edits: [
      {
        in: 'createClientGrants',
        find: 'if (!found || (!isRegistered && found.digest !== digestOf(client))) return undefined;',
        replace: 'if (!found || (isRegistered && found.digest === "")) return undefined;',
      },
    ],
    tests: unregistered,
  },
  {
    ids: [],
    fault: 'resources that are not open can be reached by clients that nobody registered',
    edits: [
      {
        in: 'createResourceIndicators',
        find: 'return resource?.open_to_unregistered ? resource : undefined;',
        replace: 'return resource;',
      },
    ],
    tests: unregistered,
  },
  {
    ids: [],
    fault: 'any host is allowed if only some are listed',
    edits: [
      {
        in: 'allowsUnregistered',
        find: "mode === 'any' || (mode === 'listed' && hosts.includes(new URL(id).host))",
        replace: "mode !== 'off' || hosts.includes(new URL(id).host)",
      },
    ],
    tests: unregistered,
  },
  {
    ids: [],
    fault: 'tokens still work after the setting no longer allows their client',
    edits: [
      {
        in: 'isAllowed',
        find: 'return unregistered !== null && allowsUnregistered(unregistered, id);',
        replace: 'return unregistered !== null;',
      },
    ],
    tests: unregistered,
  },
  {
    ids: [],
    fault: 'the metadata announces that unregistered clients are allowed although they are not',
    edits: [
      {
        in: 'createProvider',
        find: "(await clients.unregistered()).mode === 'off'",
        replace: '(await clients.unregistered()).mode === undefined',
      },
    ],
    tests: unregistered,
  },
  {
    ids: [],
    fault: 'an application reads related items for which it has no scope',
    edits: [
      {
        find: 'isInScope(caller, collection, action) ? caller.policies',
        replace: '(isInScope(caller, collection, action) || true) ? caller.policies',
      },
    ],
    tests: ownApi,
  },
  {
    ids: [],
    fault: 'scopes do not limit applications that act for administrators',
    edits: [
      {
        find: 'caller.admin && isInScope(caller, collection, action);',
        replace: 'caller.admin || !action && isInScope(caller, collection, action);',
      },
    ],
    tests: ownApi,
  },
  {
    ids: [],
    fault: 'an application calls operations for which it has no scope',
    edits: [{ find: 'if (principal && scope) requireScope(principal, scope);', replace: 'void requireScope;' }],
    tests: ownApi,
  },
  {
    ids: [],
    fault: 'an application can do what requires a fresh session',
    edits: [
      {
        find: 'sessionOf(caller) !== undefined || isOfApplication(caller);',
        replace: 'sessionOf(caller) !== undefined;',
      },
    ],
    tests: ownApi,
  },
  {
    ids: [],
    fault: 'an access token keeps the scopes that its client has lost',
    edits: [{ find: 'allowed?.includes(scope) === true &&', replace: 'allowed !== undefined &&' }],
    tests: ownApi,
  },
  {
    ids: [],
    fault: 'an access token that is bound to a key works without the key',
    edits: [{ find: 'if (token.jkt !== null)', replace: "if (token.jkt === '')" }],
    tests: ownApi,
  },
  {
    ids: [],
    fault: 'a token that was exchanged outlives the permission of the first client',
    edits: [{ find: 'if (former.some(', replace: 'if (former.length > 9 && former.some(' }],
    tests: ownApi,
  },
  {
    ids: [],
    fault: 'the actor of a row in the audit log is not signed',
    edits: [{ find: '...(row.actor === null ? [] : [row.actor]),', replace: '' }],
    tests: actor,
  },
  {
    ids: [],
    fault: 'an application is notified of a session that has merely expired',
    edits: [
      {
        find: 'forgotten as (delete from ${sessionClients} where session in (select id from ended))',
        replace: 'forgotten as (select 1)',
      },
    ],
    tests: logout,
  },
  {
    ids: [],
    fault: 'a logout token is sent to private addresses',
    edits: [{ find: 'config.WEBHOOK_ALLOW_PRIVATE_ADDRESSES ? anyAddress : isPublicAddress', replace: 'anyAddress' }],
    tests: logout,
  },
  {
    ids: [],
    fault: 'a logout token is sent without TLS in production',
    edits: [{ find: "if (requiresHttps && !uri.startsWith('https:'))", replace: "if (requiresHttps && uri === '')" }],
    tests: logout,
  },
  {
    ids: [],
    fault: 'a notification that the application refused is not repeated',
    edits: [{ find: 'if (status !== 200 && status !== 204)', replace: 'if (status === 0)' }],
    tests: logout,
  },
  {
    ids: [],
    fault: 'ID tokens contain no session',
    edits: [{ find: 'includeSid = () => true', replace: 'includeSid = () => false' }],
    tests: logout,
  },
  {
    ids: [],
    fault: 'a token of another kind is accepted as a hint about the user',
    edits: [
      {
        in: 'requireIdTokenHints',
        find: "if (typ !== 'JWT')",
        replace: "if (typ === 'x')",
      },
    ],
    tests: ['test/applications/token-kinds.test.ts'],
  },
  {
    ids: [],
    fault: 'a new sign-in is never enough',
    edits: [
      {
        in: 'createPrompts',
        find: "login.checks.remove('login_prompt');",
        replace: '',
      },
    ],
    tests: ['test/applications/prompts.test.ts'],
  },
  {
    ids: [],
    fault: 'a new sign-in is required again after consent',
    edits: [
      {
        in: 'createProviderRecords',
        find: "(kind === 'Interaction' && exchange?.interaction?.created_at) || now",
        replace: 'now',
      },
    ],
    tests: ['test/applications/prompts.test.ts'],
  },
  {
    ids: [],
    fault: 'a NUL character in a parameter reaches the database',
    edits: [
      {
        find: "if (hasNul(request)) throw new ApiError('INVALID_PAYLOAD', { reason: 'The request contains a NUL character' });",
        replace: '',
      },
    ],
    tests: malformed,
    engine: 'postgres',
  },
  {
    ids: [],
    fault: 'a token that only begins like a JWT cannot be introspected',
    edits: [{ in: 'createResourceTokens', find: '!looksLikeJwt(token)', replace: "token.split('.').length !== 3" }],
    tests: malformed,
  },
  {
    ids: [],
    fault: 'unknown paths get the response of the library',
    edits: [{ find: 'if (response.status === 404) throw routeNotFound(request);', replace: '' }],
    tests: malformed,
  },
  {
    ids: [],
    fault: 'a form of another type is refused as if a token lacked a scope',
    edits: [{ find: 'status: status === 403 ? 400 : status,', replace: 'status,' }],
    tests: malformed,
  },
  {
    ids: [],
    fault: 'a process that is killed during a revocation leaves access tokens that work',
    edits: [
      {
        in: 'createProviderRecords',
        find: 'if (revoked) await deleteFamily(db, revoked.family); else await deleteRecord(db, hashToken(id));',
        replace:
          'await deleteRecord(db, hashToken(id)); if (revoked) await new Promise((done) => setTimeout(done, 100)).then(() => deleteFamily(db, revoked.family));',
      },
    ],
    tests: kills,
  },
  {
    ids: [],
    fault: 'a code is not marked as used',
    edits: [{ find: 'exchangeOf(ctx).work.consumed.push(record);', replace: '{}' }],
    tests: kills,
  },
  {
    ids: [],
    fault: 'a refresh that is repeated has a second successor',
    edits: [
      {
        find: 'return exchangeOf(ctx).successor ?? handles.successorsOf(replaced.jti)[0];',
        replace: 'return generateTokenId.call(this);',
      },
    ],
    tests: kills,
  },
  {
    ids: [],
    fault: 'a program that accepts pages gets its errors as pages',
    edits: [
      { find: "headers: hasSession ? headers : { ...headers, accept: 'application/json' },", replace: 'headers,' },
    ],
    tests: ['test/applications/malformed.test.ts'],
  },
  {
    ids: [],
    fault: 'parallel requests can use one proof of possession',
    edits: [
      {
        find: 'if (!(await insertNewRecord(db, record))) throw',
        replace: 'if (!(await insertNewRecord(db, record)) && !ctx) throw',
      },
    ],
    tests: tokens,
    engine: 'postgres',
  },
  {
    ids: [],
    fault: 'another site can show the account pages in a frame',
    edits: [{ under: 'plugins/pages/service.ts', find: `"frame-ancestors 'none'",`, replace: '' }],
    tests: browser,
  },
];
