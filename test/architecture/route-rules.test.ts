import fastify, { type FastifyRequest, type FastifySchema, type RouteShorthandOptions } from 'fastify';
import t from 'tap';
import { routeRulesPlugin } from '../../plugins/server/route-rules.js';
import { accessMap, directusOperations, needs, recordedAs, unrecorded } from '../../routes/index.js';
import { startTestApp } from '../helpers/app.js';

const response = { 200: { type: 'string' } };
const good: FastifySchema = { operationId: 'readThing', response };
const map = {
  readThing: 'authenticated',
  readOther: 'anonymous',
  readShared: 'permission',
  writeThing: 'authenticated',
} as const;
const rules = {
  accessMap: map,
  beforeTfa: new Set<string>(),
  needs: {},
  directusOperations: new Set<string>(),
  recordedAs: {},
  unrecorded: {},
};

/** Boots an app with these routes, each at a path of its own. */
async function boot(...schemas: (FastifySchema | undefined)[]) {
  const app = fastify();
  await app.register(routeRulesPlugin, rules);
  for (const [index, schema] of schemas.entries()) {
    const options: RouteShorthandOptions = schema === undefined ? {} : { schema };
    app.get(`/${index}`, options, async (request) => String(request.routeOptions.config.access));
  }
  await app.ready();
  return app;
}

t.test('a route that keeps the rules gets its access', async (t) => {
  const app = await boot(good, { operationId: 'readOther', response });
  t.equal((await app.inject('/0')).body, 'authenticated');
  t.equal((await app.inject('/1')).body, 'anonymous');
});

t.test('the API reference and the pages are open, and no other route can hide', async (t) => {
  const app = fastify();
  await app.register(routeRulesPlugin, rules);
  const answer = async (request: FastifyRequest) => String(request.routeOptions.config.access);
  const open = ['/docs', '/docs/page', '/openapi.json', '/openapi.yaml', '/account', '/account/login'];
  const anonymous = ['/mailbox', '/mailbox/1'];
  for (const path of [...open, ...anonymous]) app.get(path, { schema: { hide: true } }, answer);
  for (const path of ['/docsx', '/openapi.json.bak', '/users/docs', '/accounts', '/users/account', '/mailboxes']) {
    t.throws(() => app.get(path, { schema: { hide: true } }, answer), /has no operationId/, path);
  }
  for (const path of open) t.equal((await app.inject(path)).body, 'open', path);
  for (const path of anonymous) t.equal((await app.inject(path)).body, 'anonymous', path);
  await t.rejects(boot({ hide: true }), /GET \/0 has no operationId/);
});

t.test('a route that breaks one is refused at boot, by its name', async (t) => {
  const { operationId, ...unnamed } = good;
  await t.rejects(boot(undefined), /GET \/0 has no operationId/);
  await t.rejects(boot({}), /GET \/0 has no operationId/);
  await t.rejects(boot(unnamed), /GET \/0 has no operationId/);
  await t.rejects(boot({ operationId: '', response }), /GET \/0 has no operationId/);
  await t.rejects(boot({ operationId: 'readThing' }), /GET \/0 declares no responses/);
  await t.rejects(boot({ operationId: 'readUnknown', response }), /GET \/0 \(readUnknown\) is not in the access map/);
  await t.rejects(boot(good, good), /GET \/1 and \/0 are both named readThing/);
  for (const name of ['constructor', 'toString', '__proto__']) {
    await t.rejects(boot({ operationId: name, response }), /is not in the access map/, name);
  }
});

t.test('what changes something says what it is recorded as, or why it is not', async (t) => {
  const write = async (more: Partial<typeof rules>) => {
    const app = fastify();
    await app.register(routeRulesPlugin, { ...rules, ...more });
    app.post('/', { schema: { operationId: 'writeThing', response } }, async (request) =>
      JSON.stringify(request.routeOptions.config.recordedAs ?? null),
    );
    return (await app.inject({ method: 'POST', url: '/' })).json();
  };
  await t.rejects(write({}), /writeThing.* neither says what it is recorded as, nor why it is not/);
  t.strictSame(await write({ recordedAs: { writeThing: ['update', 'users'] } }), ['update', 'users']);
  t.equal(await write({ unrecorded: { writeThing: 'It is of no interest.' } }), null);
  const both = Object.keys(recordedAs).filter((name) => Object.hasOwn(unrecorded, name));
  t.strictSame(both, []);
});

t.test('an operation that goes by permissions declares which', async (t) => {
  await t.rejects(boot({ operationId: 'readShared', response }), /readShared.* does not declare what its callers need/);
});

t.test('a body of an operation of our own is closed', async (t) => {
  const write = async (body: object | undefined, more: Partial<typeof rules> = {}) => {
    const app = fastify();
    app.addSchema({ $id: 'Open', type: 'object' });
    app.addSchema({ $id: 'Shut', type: 'object', additionalProperties: false });
    await app.register(routeRulesPlugin, { ...rules, unrecorded: { writeThing: 'A test.' }, ...more });
    const schema: FastifySchema = { operationId: 'writeThing', response, ...(body ? { body } : {}) };
    app.post('/', { schema }, async () => 'done');
    return (payload: object) => app.inject({ method: 'POST', url: '/', payload });
  };
  const open = /writeThing.* accepts unknown keys/;
  for (const body of [{ type: 'object' }, { $ref: 'Open#' }, { anyOf: [{ $ref: 'Shut#' }, { $ref: 'Open#' }] }]) {
    await t.rejects(write(body), open);
    await t.resolves(write(body, { directusOperations: new Set(['writeThing']) }));
  }
  await t.resolves(write({ $ref: 'Shut#' }));
  const send = await write(undefined);
  t.equal((await send({})).statusCode, 200);
  for (const payload of [{ a: 1 }, [], [1]]) t.not((await send(payload)).statusCode, 200, JSON.stringify(payload));
});

t.test('every operation that needs something, or is of the Directus API, exists', async (t) => {
  for (const name of [...Object.keys(needs), ...directusOperations]) t.ok(Object.hasOwn(accessMap, name), name);
});

t.test('the access map has a line for each operation, and no other', async (t) => {
  const { app } = await startTestApp(t);
  const { paths } = app.swagger() as { paths?: Record<string, Record<string, { operationId?: string }>> };
  const names = Object.values(paths ?? {})
    .flatMap((path) => Object.values(path))
    .map(({ operationId }) => operationId);
  t.strictSame(names.sort(), Object.keys(accessMap).sort());
});
