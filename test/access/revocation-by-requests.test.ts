// @suite not-everyday: tries hundreds of cases

import { randomUUID } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import t from 'tap';
import { buildApp } from '../../app.js';
import { createTestDatabase } from '../helpers/database/databases.js';
import { asAdmin, patch, remove, startWithAdmin } from '../helpers/http/writing.js';
import { tokenFor } from '../helpers/mail/mails.js';
import { atEndOf } from '../helpers/runner/teardown.js';
import { testConfig } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';
import { createPolicy, createRole, everyPermission, policyWith } from '../helpers/users/rights.js';
import { type ClientSession, claimsOf, logOut, modes, refresh, sessionOf } from '../helpers/users/sessions.js';
import { codeOfStep, rfcSecret } from '../helpers/users/totp.js';
import { nextStep } from '../helpers/users/two-factor.js';
import { createSignedInUser } from '../helpers/users/users.js';

/**
 * A change made through one instance takes effect on another with the next request, for every kind of credential. The
 * two instances share only the database.
 */

const service = await startWithAdmin(t);
const { app, clock, database, post } = service;
const twin = await buildApp(testConfig(), { clock: clock.now, database: database.location });
atEndOf(t, () => twin.close());

/** A user with all rights except admin access, with a session in each mode and a static token. */
async function somebody({ hasTfa = false } = {}) {
  const policy = await policyWith(app, everyPermission);
  const role = await createRole(app, { policies: [policy] });
  const person = await createSignedInUser(service, hasTfa ? { role, tfa: true } : { role });
  const signIn = async (mode: (typeof modes)[number]) =>
    sessionOf(mode, await person.login(hasTfa ? codeOfStep(nextStep(service)) : undefined, { mode }));
  const held = { json: await signIn('json'), cookie: await signIn('cookie'), session: await signIn('session') };
  return { ...person, policy, role, held };
}
type Somebody = Awaited<ReturnType<typeof somebody>>;
type Name = (typeof modes)[number] | 'static token';
const names: readonly Name[] = [...modes, 'static token'];

const idOf = ({ accessToken }: ClientSession) => String(claimsOf(accessToken).session);
const update = ({ id }: Somebody, data: object) => patch(service, `/users/${id}`, data);
const password = 'another password, long enough';
const others: readonly Name[] = ['cookie', 'session'];

/** A request to the first instance and its effect on credentials. Credentials that are not listed stay valid. */
interface Act {
  send(who: Somebody): Promise<LightMyRequestResponse>;
  dead?: readonly Name[];
  /** Credentials that stay valid but have fewer rights. */
  powerless?: readonly Name[];
  hasTfa?: boolean;
}

const acts: Record<string, Act> = {
  ...Object.fromEntries(
    modes.map((mode): [string, Act] => [
      `logout in mode ${mode}`,
      { send: ({ held }) => logOut(service, held[mode]), dead: [mode] },
    ]),
  ),
  'one session ended by its user': {
    send: ({ held }) => remove(service, `/users/me/sessions/${idOf(held.session)}`, undefined, held.json.headers),
    dead: ['session'],
  },
  'all other sessions ended by their user': {
    send: ({ held }) => remove(service, '/users/me/sessions', undefined, held.json.headers),
    dead: others,
  },
  'one session ended by an administrator': {
    send: ({ id, held }) => remove(service, `/users/${id}/sessions/${idOf(held.cookie)}`),
    dead: ['cookie'],
  },
  'all sessions ended by an administrator': { send: ({ id }) => remove(service, `/users/${id}/sessions`), dead: modes },
  'user suspended': { send: (who) => update(who, { status: 'suspended' }), dead: names },
  'user archived in a bulk update': {
    send: ({ id }) => patch(service, '/users', { keys: [id], data: { status: 'archived' } }),
    dead: names,
  },
  'user deleted': { send: ({ id }) => remove(service, `/users/${id}`), dead: names },
  'password changed': { send: (who) => update(who, { password }), dead: modes },
  'password changed by the user': {
    send: ({ held }) => patch(service, '/users/me', { password }, held.json.headers),
    dead: others,
  },
  'password reset by email': {
    send: async ({ email }) => {
      await post('/auth/password/request', { email });
      return post('/auth/password/reset', { token: await tokenFor(app, email), password });
    },
    dead: modes,
  },
  'email address changed': { send: (who) => update(who, { email: `${randomUUID()}@example.com` }), dead: modes },
  'token replaced': { send: (who) => update(who, { token: `another-${randomUUID()}` }), dead: ['static token'] },
  'token removed': { send: (who) => update(who, { token: null }), dead: ['static token'] },
  'second factor set up': {
    send: ({ held }) =>
      post('/users/me/tfa/enable', { secret: rfcSecret.base32, otp: codeOfStep(nextStep(service)) }, held.json.headers),
    dead: others,
  },
  'second factor turned off': {
    send: ({ held }) => post('/users/me/tfa/disable', { otp: codeOfStep(nextStep(service)) }, held.json.headers),
    dead: others,
    hasTfa: true,
  },
  'second factor turned off by an administrator': {
    send: ({ id }) => post(`/users/${id}/tfa/disable`, undefined, asAdmin),
    dead: modes,
    hasTfa: true,
  },
  'role removed': { send: (who) => update(who, { role: null }), powerless: names },
  'role replaced': { send: async (who) => update(who, { role: await createRole(app) }), powerless: names },
  'policy removed from the role': {
    send: ({ role }) => patch(service, `/roles/${role}`, { policies: [] }),
    powerless: names,
  },
  'role deleted': { send: ({ role }) => remove(service, `/roles/${role}`), powerless: names },
  'policy restricted to other addresses': {
    send: ({ policy }) => patch(service, `/policies/${policy}`, { ip_access: ['192.0.2.7'] }),
    powerless: names,
  },
  'policy that now requires a second factor': {
    send: ({ policy }) => patch(service, `/policies/${policy}`, { enforce_tfa: true }),
    powerless: names,
  },
  'permissions of the policy deleted': {
    send: ({ policy }) =>
      remove(service, '/permissions', { query: { filter: { policy: { _eq: policy } }, limit: -1 } }),
    powerless: names,
  },
  'policy deleted': { send: ({ policy }) => remove(service, `/policies/${policy}`), powerless: names },
  'irrelevant field changed': { send: (who) => update(who, { title: 'Dr.' }) },
  'policy added to the user': {
    send: async (who) => update(who, { policies: [await createPolicy(app)] }),
  },
};

t.test(
  'every credential is checked again with each request (CVE-2024-34709, GHSA-56p6-qw3c-fq2g, CVE-2026-22706, CVE-2024-21635, GHSA-2vg6-77g8-24mp, CVE-2025-29928, CVE-2024-47000)',
  async (t) => {
    for (const [what, { send, dead = [], powerless = [], hasTfa = false }] of Object.entries(acts)) {
      const who = await somebody({ hasTfa });
      const headersOf = (name: Name) => (name === 'static token' ? who.tokenHeaders : who.held[name].headers);
      const statusOf = async (name: Name) =>
        (await twin.inject({ url: '/users?limit=1', headers: headersOf(name) })).statusCode;
      for (const name of names) t.equal(await statusOf(name), 200, `before ${what}: ${name}`);
      const done = await send(who);
      t.ok(done.statusCode < 300, `${what}: ${done.statusCode} ${done.body}`);
      for (const name of names) {
        const expected = dead.includes(name) ? 401 : powerless.includes(name) ? 403 : 200;
        t.equal(await statusOf(name), expected, `${what}: ${name}`);
      }
      for (const mode of modes) {
        const { payload, headers } = who.held[mode].carrier;
        const { statusCode } = await twin.inject({ method: 'POST', url: '/auth/refresh', payload, headers });
        t.equal(statusCode, dead.includes(mode) ? 401 : 200, `${what}: a refresh in mode ${mode}`);
      }
    }
  },
);

t.test('a refresh can be repeated on an instance with a newer SECRET', async (t) => {
  const [PREVIOUS_SECRETS, SECRET] = [
    'the former secret which is long enough',
    'the present secret which is long enough',
  ];
  // Its own, because the other instances know neither SECRET.
  const { location, drop } = await createTestDatabase({ hasTables: true });
  atEndOf(t, drop);
  const start = async (variables: Record<string, string>) => {
    const instance = await buildApp(testConfig(variables), { clock: clock.now, database: location });
    atEndOf(t, () => instance.close());
    return (path: string, request: object) => instance.inject({ method: 'POST', url: path, ...request });
  };
  const former = await start({ SECRET: PREVIOUS_SECRETS });
  const present = await start({ SECRET, PREVIOUS_SECRETS });
  for (const mode of ['json', 'cookie'] as const) {
    const first = sessionOf(mode, await former('/auth/login', { payload: { ...administrator, mode } }));
    const second = sessionOf(mode, await former('/auth/refresh', first.carrier));
    t.equal(sessionOf(mode, await present('/auth/refresh', first.carrier)).token, second.token, mode);
    const third = sessionOf(mode, await present('/auth/refresh', second.carrier));
    t.equal(
      sessionOf(mode, await present('/auth/refresh', second.carrier)).token,
      third.token,
      `${mode}: with the new token`,
    );
  }
});

t.test('a refreshed token has exactly one successor across all instances (CVE-2026-1035)', async (t) => {
  for (const mode of modes) {
    const { held } = await somebody();
    const { carrier } = held[mode];
    const atTwin = () => twin.inject({ method: 'POST', url: '/auth/refresh', ...carrier });
    const asks = Array.from({ length: 50 }, (_, index) => (index % 2 ? atTwin() : refresh(service, held[mode])));
    const answers = await Promise.all([...asks, atTwin()]);
    const successors = answers.map((answer) => {
      const { token } = sessionOf(mode, answer);
      if (mode !== 'session') return token;
      const { session, generation, exp } = claimsOf(token);
      return JSON.stringify({ session, generation, exp });
    });
    t.equal(new Set(successors).size, 1, mode);
    const [answer] = answers;
    if (answer) t.equal((await refresh(service, sessionOf(mode, answer))).statusCode, 200, `${mode}: it works`);
  }
});
