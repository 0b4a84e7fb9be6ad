import fc from 'fast-check';
import t, { type Test } from 'tap';
import type { Known } from '../helpers/fuzz/draw.js';
import { createRequestDraw, curlLine, type WireRequest } from '../helpers/fuzz/requests.js';
import { apiDocument } from '../helpers/openapi/document.js';
import { amountOf } from '../helpers/runner/long.js';
import { startTestApp, type TestApp } from '../helpers/service/app.js';
import { createPolicy, createRole, everyPermission, policyWith } from '../helpers/users/rights.js';
import { createUser, createUserWithToken } from '../helpers/users/users.js';

/** The total number of requests, and the number per world. Each world starts with fresh data. */
const runs = amountOf('FUZZ_RUNS', { short: 400, long: 10_000 });
const runsInWorld = 400;
const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
const drawRequest = createRequestDraw(apiDocument());

interface World extends TestApp {
  known: Known;
  callers: Record<string, string>[];
}

/** Starts a service with data of every kind. */
async function createWorld(t: Test): Promise<World> {
  const service = await startTestApp(t, {
    PASSWORD_RESET_URL_ALLOW_LIST: 'https://app.example/reset',
    USER_INVITE_URL_ALLOW_LIST: 'https://app.example/invite',
    USER_REGISTER_URL_ALLOW_LIST: 'https://app.example/verify',
  });
  const { app, post, request } = service;
  const admin = await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] });
  const role = await createRole(app, { policies: [await policyWith(app, everyPermission)] });
  const manager = await createUserWithToken(app, { role });
  const own = { id: { _eq: '$CURRENT_USER' } };
  const member = await createUserWithToken(app, {
    role: await createRole(app, {
      policies: [
        await policyWith(app, [
          { collection: 'users', action: 'read', permissions: own, fields: ['id', 'email', 'first_name', 'role'] },
          { collection: 'users', action: 'update', permissions: own, fields: ['first_name', 'title', 'password'] },
        ]),
      ],
    }),
  });
  const others = [
    await createUser(app),
    await createUser(app, { status: 'suspended' }),
    await createUser(app, { role }),
  ];
  const tokens: string[] = [];
  for (const { email, password } of [...others, member]) {
    const login = await post('/auth/login', { email, password });
    if (login.statusCode === 200) tokens.push(login.json().data.refresh_token);
  }
  await request({ method: 'PATCH', url: '/settings', headers: admin.headers, payload: { public_registration: true } });
  const idsOf = async (path: string) =>
    (await request({ method: 'GET', url: `${path}?fields=id`, headers: admin.headers }))
      .json()
      .data.map(({ id }: { id: string | number }) => String(id));
  return {
    ...service,
    known: {
      ids: (await Promise.all(['/users', '/roles', '/policies', '/permissions'].map(idsOf))).flat(),
      emails: [admin, manager, member, ...others].map(({ email }) => email),
      texts: [
        ...tokens,
        others[0]?.password ?? '',
        'https://app.example/reset',
        'https://app.example/invite',
        '123456',
      ],
    },
    callers: [{}, member.headers, manager.headers, admin.headers],
  };
}

for (let done = 0; done < runs; done += runsInWorld) {
  const worldSeed = seed + done;
  t.test(`requests ${done} to ${done + runsInWorld}, seed ${worldSeed}`, async (t) => {
    const { request, known, callers } = await createWorld(t);
    let failed: WireRequest | undefined;
    const property = fc.asyncProperty(fc.constantFrom(...callers), fc.gen(), async (caller, draw) => {
      const asked = drawRequest(draw, known, caller);
      try {
        // Throws if the document does not declare the response.
        const { statusCode, body } = await request(asked as Parameters<typeof request>[0]);
        if (statusCode >= 500) throw new Error(`${statusCode}: ${body}`);
      } catch (error) {
        // While fast-check shrinks the request, the last one to fail is the simplest.
        failed = asked;
        throw error;
      }
    });
    const result = await fc.check(property, { numRuns: Math.min(runsInWorld, runs - done), seed: worldSeed });
    if (!failed) return void t.pass('every response matches the document');
    t.comment(curlLine(failed));
    t.comment(`To reproduce: FUZZ_SEED=${worldSeed} npm run test:fuzz`);
    t.fail(`${result.errorInstance}`);
  });
}
