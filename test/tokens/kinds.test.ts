import type { LightMyRequestResponse } from 'fastify';
import t from 'tap';
import { settings } from '../../db/schema.js';
import { asAdmin, startWithAdmin } from '../helpers/http/writing.js';
import { tokenFor } from '../helpers/mail/mails.js';
import { startOauth2Server } from '../helpers/providers/oauth2-server.js';
import { userBehind } from '../helpers/providers/provider-records.js';
import { begin, completeLogin, createVisitor, followRedirect } from '../helpers/providers/visitor.js';
import { bearer } from '../helpers/service/app.js';
import { assertUnchanged, createPolicy, createRole } from '../helpers/users/rights.js';
import { carry, logIn, sessionCookie } from '../helpers/users/sessions.js';
import { codeOfStep, rfcSecret, stepOf } from '../helpers/users/totp.js';
import { ownSecretPolicy } from '../helpers/users/two-factor.js';
import { changeUser, createSignedInUser, createUserWithToken } from '../helpers/users/users.js';

/** Every kind of token that the service issues, sent to every place that accepts tokens. */

const publicUrl = 'http://gatehouse.example.com';
const server = await startOauth2Server(t, { publicUrl, keys: ['alpha'] });
const metricsToken = 'the-token-for-reading-metrics';
const service = await startWithAdmin(t, {
  PUBLIC_URL: publicUrl,
  REGISTRATION_ANSWER_TIME: '1ms',
  METRICS_TOKEN: metricsToken,
  AUTH_PROVIDERS: 'alpha',
  ...server.variables('alpha', { ALLOW_PUBLIC_REGISTRATION: 'true', MODE: 'json' }),
});
const { app, clock, get, post } = service;
await app.db.update(settings).set({ publicRegistration: true });
const password = 'a password that is long enough';
const policy = await createPolicy(app, { appAccess: true });

const holder = await createUserWithToken(app, { policies: [policy] });
const [json, cookie, session] = [
  await logIn(service, 'json', holder),
  await logIn(service, 'cookie', holder),
  await logIn(service, 'session', holder),
];

const mailed = async (email: string, send: () => Promise<LightMyRequestResponse>) => {
  await send();
  return tokenFor(app, email);
};
const invited = 'invited@example.com';
const registered = 'registered@example.com';
const role = await createRole(app);

/** A user who returns from the provider: first without a second factor, then with one. */
server.profile = { id: 'octo', name: 'Mona', email: 'mona@example.com' };
const atAlpha = () => createVisitor(service, publicUrl);
const firstTime = await completeLogin(atAlpha(), 'alpha', { family: 'oauth' }, followRedirect);
const { user: mona } = (await userBehind(app, 'alpha', 'octo')) ?? {};
if (firstTime.statusCode !== 200 || !mona) throw new Error(firstTime.body);
const beginning = atAlpha();
const callback = new URL(await followRedirect(await begin(beginning, 'alpha', { family: 'oauth' })));
const verifier = await beginning.cookies(callback.href);
await changeUser(app, mona.id, { tfaSecret: app.tfaSecrets.seal(rfcSecret.base32, mona.id) });
const waiting = atAlpha();
await completeLogin(waiting, 'alpha', { family: 'oauth' }, followRedirect);
const pendingName = 'gatehouse_provider_pending';
const pending = /gatehouse_provider_pending=([^;]+)/.exec(await waiting.cookies(callback.href))?.[1] ?? '';
const person = await createSignedInUser(service, { tfa: true, policies: [await ownSecretPolicy(app)] });
const [recoveryCode]: string[] = (await person.renewCodes({ password: person.password })).json().data;

const tokens = {
  'an access token': json.accessToken,
  'an access token of mode cookie': cookie.accessToken,
  'the token of a session cookie': session.token,
  'a refresh token': json.token,
  'the token of a refresh cookie': cookie.token,
  'a static token': holder.token,
  'a link to reset a password': await mailed(holder.email, () =>
    post('/auth/password/request', { email: holder.email }),
  ),
  'an invitation': await mailed(invited, () => post('/users/invite', { email: invited, role }, asAdmin)),
  'a link to verify an address': await mailed(registered, () =>
    post('/users/register', { email: registered, password }),
  ),
  'the state of a login by provider': callback.searchParams.get('state') ?? '',
  'a login that waits for a second factor': decodeURIComponent(pending),
  'a sealed secret': app.tfaSecrets.seal(rfcSecret.base32, holder.id),
  'a recovery code': recoveryCode ?? '',
  'the token for metrics': metricsToken,
};
type Kind = keyof typeof tokens;

const credentials: Kind[] = [
  'an access token',
  'an access token of mode cookie',
  'the token of a session cookie',
  'a static token',
];
const refreshTokens: Kind[] = ['a refresh token', 'the token of a refresh cookie'];

const withState = (state: string) => {
  const url = new URL(callback);
  url.searchParams.set('state', state);
  const cookies = verifier.replace(/(gatehouse_provider_state=)[^;]*/, `$1${encodeURIComponent(state)}`);
  return get(`${url.pathname}${url.search}`, { cookie: cookies });
};

/** A place that accepts tokens, and the kinds that it accepts. */
const places: Record<string, { takes: readonly Kind[]; show(token: string): Promise<LightMyRequestResponse> }> = {
  'the Authorization header': { takes: credentials, show: (token) => get('/users/me', bearer(token)) },
  'the query': { takes: credentials, show: (token) => get(`/users/me?access_token=${encodeURIComponent(token)}`) },
  'the session cookie': {
    takes: credentials,
    show: (token) => get('/users/me', { cookie: `${sessionCookie}=${token}` }),
  },
  'a refresh': { takes: refreshTokens, show: (token) => post('/auth/refresh', { refresh_token: token, mode: 'json' }) },
  'a refresh by cookie': {
    takes: refreshTokens,
    show: (token) => post('/auth/refresh', { mode: 'cookie' }, carry('cookie', token).headers),
  },
  'a refresh of a session': {
    takes: ['the token of a session cookie'],
    show: (token) => post('/auth/refresh', { mode: 'session' }, { ...carry('session', token).headers, ...asAdmin }),
  },
  'a password reset': {
    takes: ['a link to reset a password'],
    show: (token) => post('/auth/password/reset', { token, password }),
  },
  'accepting an invitation': {
    takes: ['an invitation'],
    show: (token) => post('/users/invite/accept', { token, password }),
  },
  'verifying an address': {
    takes: ['a link to verify an address'],
    show: (token) => get(`/users/register/verify-email?token=${encodeURIComponent(token)}`),
  },
  'the callback of a provider': { takes: ['the state of a login by provider'], show: withState },
  'the second factor after a provider': {
    takes: ['a login that waits for a second factor'],
    show: (token) =>
      post(
        '/auth/login/alpha',
        { otp: codeOfStep(stepOf(clock.now())) },
        { cookie: `${pendingName}=${encodeURIComponent(token)}` },
      ),
  },
  metrics: { takes: ['the token for metrics'], show: (token) => get('/metrics', bearer(token)) },
};

/** Logouts never reject a token, but an unknown one ends no session. */
const exits: Record<string, (token: string) => Promise<LightMyRequestResponse>> = {
  'a logout': (token) => post('/auth/logout', { refresh_token: token, mode: 'json' }),
  'a logout by cookie': (token) => post('/auth/logout', { mode: 'cookie' }, carry('cookie', token).headers),
  'a logout of a session': (token) =>
    post('/auth/logout', { mode: 'session' }, { ...carry('session', token).headers, ...asAdmin }),
};

const refuses = ({ statusCode }: LightMyRequestResponse) => [400, 401, 403].includes(statusCode);

t.test('a token of one kind is not accepted as another', async (t) => {
  await assertUnchanged(t, app, 'tokens of other kinds', async () => {
    for (const [place, { takes, show }] of Object.entries(places)) {
      for (const [kind, token] of Object.entries(tokens) as [Kind, string][]) {
        t.ok(token.length > 10, kind);
        if (takes.includes(kind)) continue;
        const answer = await show(token);
        t.ok(refuses(answer), `${kind} at ${place}: ${answer.statusCode} ${answer.body.slice(0, 100)}`);
      }
    }
    for (const [place, show] of Object.entries(exits)) {
      for (const [kind, token] of Object.entries(tokens) as [Kind, string][]) {
        if (refreshTokens.includes(kind) || kind === 'the token of a session cookie') continue;
        t.equal((await show(token)).statusCode, 204, `${kind} at ${place}`);
      }
    }
  });
});

t.test('a truncated token is not accepted (CVE-2026-27840)', async (t) => {
  await assertUnchanged(t, app, 'the beginnings of tokens', async () => {
    for (const [place, { takes, show }] of Object.entries(places)) {
      for (const kind of takes) {
        const token = tokens[kind];
        const step = Math.ceil(token.length / 24);
        const lengths = new Set([token.length - 1, token.length - 2]);
        for (let length = step; length < token.length; length += step) lengths.add(length);
        for (const length of lengths) {
          const answer = await show(token.slice(0, length));
          t.ok(refuses(answer), `${length} of ${token.length} characters of ${kind} at ${place}: ${answer.statusCode}`);
        }
      }
    }
  });
});

t.test('each kind of token is accepted where it belongs', async (t) => {
  for (const [place, { takes, show }] of Object.entries(places)) {
    for (const kind of takes) {
      // A refresh uses up its token, so each token is sent to only one place.
      if (place === 'a refresh' && kind !== 'a refresh token') continue;
      if (place === 'a refresh by cookie' && kind === 'a refresh token') continue;
      const answer = await show(tokens[kind]);
      // Both belong to a user who now has a second factor.
      const isAsked =
        place === 'the callback of a provider' && answer.json().errors?.[0].extensions.code === 'INVALID_OTP';
      t.ok(
        answer.statusCode < 300 || isAsked,
        `${kind} at ${place}: ${answer.statusCode} ${answer.body.slice(0, 100)}`,
      );
    }
  }
});
