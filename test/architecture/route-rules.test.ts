// @suite embedded-only: hardly depends on the engine

import fastify, { type FastifyContextConfig, type FastifyRequest, type FastifySchema } from 'fastify';
import t from 'tap';
import type { AcceptedKinds } from '../../plugins/http/credential.js';
import { type CredentialKind, credentialNames } from '../../plugins/http/credential.js';
import { protocolPlugin } from '../../plugins/http/protocol.js';
import { routeRulesPlugin } from '../../plugins/http/route-rules.js';
import { namedSchemas } from '../../schemas/common.js';
import { startTestApp } from '../helpers/service/app.js';

const response = { 200: { type: 'string' } };
const good = { operationId: 'readThing', response } satisfies FastifySchema;
const forUsers: FastifyContextConfig = { access: 'authenticated' };

/** An app with only the route rules. */
async function ruled() {
  const app = fastify();
  for (const schema of namedSchemas()) app.addSchema(schema);
  await app.register(protocolPlugin);
  await app.register(routeRulesPlugin);
  return app;
}

/** Boots an app with these routes, each at its own path. */
async function boot(...routes: [schema: FastifySchema | undefined, config?: FastifyContextConfig][]) {
  const app = await ruled();
  for (const [index, [schema, config = forUsers]] of routes.entries()) {
    app.get(`/${index}`, { config, ...(schema && { schema: { ...schema } }) }, async () => 'done');
  }
  await app.ready();
  return app;
}

t.test('the service lists each operation with the config that its route declares', async (t) => {
  const app = await boot([good], [{ operationId: 'readOther', response }, { access: 'anonymous' }]);
  t.match(app.operations.get('readThing'), { method: 'GET', url: '/0', config: { access: 'authenticated' } });
  t.match(app.operations.get('readOther'), { method: 'GET', url: '/1', config: { access: 'anonymous' } });
  t.equal(app.operations.size, 2);
});

t.test('a route gets the error responses that its config implies', async (t) => {
  const responsesOf = async (config: FastifyContextConfig) => {
    const app = await ruled();
    let statuses: string[] = [];
    app.addHook('onRoute', ({ schema }) => {
      statuses = Object.entries(schema?.response ?? {}).map(
        ([status, { description = '' }]) => `${status} ${description}`,
      );
    });
    app.get('/', { schema: { ...good }, config: { ...forUsers, ...config } }, async () => 'done');
    await app.ready();
    return statuses.slice(1);
  };
  t.strictSame(await responsesOf({}), ['403 `FORBIDDEN`']);
  const kinds = Object.keys(credentialNames) as CredentialKind[];
  t.strictSame(await responsesOf({ beforeTfa: true, credentials: kinds as [CredentialKind] }), []);
  t.strictSame(await responsesOf({ beforeTfa: true, credentials: ['session'] }), ['403 `FORBIDDEN`']);
  t.strictSame(await responsesOf({ requiresFresh: true }), ['403 `FORBIDDEN`, `REAUTHENTICATION_REQUIRED`']);
});

t.test(
  'a route of a scope that is not part of the API is in the document only if it has an operation ID',
  async (t) => {
    const app = await ruled();
    const answer = async ({ routeOptions }: FastifyRequest) => [routeOptions.config.access, routeOptions.schema?.hide];
    app.register(async (scope) => {
      scope.setProtocol({ isApi: false, config: { access: 'open' } });
      scope.get('/open', answer);
      scope.get('/guarded', { config: { access: 'anonymous' } }, answer);
      scope.get('/documented', { schema: { operationId: 'readDocumented' } }, answer);
    });
    t.strictSame((await app.inject('/open')).json(), ['open', true]);
    t.strictSame((await app.inject('/guarded')).json(), ['anonymous', true]);
    t.strictSame((await app.inject('/documented')).json(), ['open', null]);
    t.equal(app.operations.size, 0);
    t.strictSame([...app.protocolOperations.keys()], ['readDocumented']);
    await t.rejects(boot([{ hide: true }]), /GET \/0 has no operationId/);
  },
);

t.test('a route that violates a rule is rejected at boot, by name', async (t) => {
  const { operationId, ...unnamed } = good;
  await t.rejects(boot([undefined]), /GET \/0 has no operationId/);
  await t.rejects(boot([{}]), /GET \/0 has no operationId/);
  await t.rejects(boot([unnamed]), /GET \/0 has no operationId/);
  await t.rejects(boot([{ operationId: '', response }]), /GET \/0 has no operationId/);
  await t.rejects(boot([{ operationId }]), /GET \/0 \(readThing\) declares no responses/);
  for (const config of [{}, { access: 'open' }] as const) {
    await t.rejects(boot([good, config]), /GET \/0 \(readThing\) does not declare who may call it/);
  }
  await t.rejects(boot([good], [good]), /GET \/1 \(readThing\) and \/0 have the same operationId/);
  await t.rejects(boot([good, { access: 'permission' }]), /readThing.* does not declare what its callers need/);
  await t.resolves(boot([good, { access: 'permission', needs: 'nothing' }]));
  for (const config of [{ credentials: ['session'] }, { requiresFresh: true }] as const) {
    await t.rejects(
      boot([good, { ...config, access: 'anonymous' }]),
      /readThing.* does not accept all credentials, but requires none/,
    );
  }
  const credentials = ['session', 'a hope'] as unknown as AcceptedKinds;
  await t.rejects(boot([good, { ...forUsers, credentials }]), /readThing.* unknown kind of credential: a hope/);
});

/** Boots an app with an operation that changes something. */
async function bootWrite(config: FastifyContextConfig, body?: object) {
  const app = await ruled();
  app.addSchema({ $id: 'Open', type: 'object' });
  app.addSchema({ $id: 'Shut', type: 'object', additionalProperties: false });
  const schema: FastifySchema = { operationId: 'writeThing', response, ...(body && { body }) };
  app.post('/', { schema, config: { ...forUsers, ...config } }, async () => 'done');
  return app;
}

t.test('an operation that changes something declares how it is recorded, or why it is not', async (t) => {
  const recordedAs = ['update', 'users'] as const;
  const notRecorded = 'It changes nothing of interest.';
  const error = /writeThing.* must declare how it is recorded/;
  await t.rejects(bootWrite({}), error);
  await t.rejects(bootWrite({ recordedAs, notRecorded }), error);
  await t.resolves(bootWrite({ recordedAs }));
  await t.resolves(bootWrite({ notRecorded }));
});

t.test('the body schema of an operation must be closed, unless it declares otherwise', async (t) => {
  const notRecorded = 'A test.';
  const open = /writeThing.* accepts unknown keys/;
  for (const body of [{ type: 'object' }, { $ref: 'Open#' }, { anyOf: [{ $ref: 'Shut#' }, { $ref: 'Open#' }] }]) {
    await t.rejects(bootWrite({ notRecorded }, body), open);
    await t.resolves(bootWrite({ notRecorded, acceptsUnknownKeys: true }, body));
  }
  await t.resolves(bootWrite({ notRecorded }, { $ref: 'Shut#' }));
  const app = await bootWrite({ notRecorded });
  const send = (payload: object) => app.inject({ method: 'POST', url: '/', payload });
  t.equal((await send({})).statusCode, 200);
  for (const payload of [{ a: 1 }, [], [1]]) t.not((await send(payload)).statusCode, 200, JSON.stringify(payload));
});

t.test('the service lists exactly the operations in the document', async (t) => {
  const { app } = await startTestApp(t);
  const { paths } = app.swagger() as { paths?: Record<string, Record<string, { operationId?: string }>> };
  const names = Object.values(paths ?? {})
    .flatMap((path) => Object.values(path))
    .map(({ operationId }) => operationId);
  t.strictSame(names.sort(), [...app.operations.keys(), ...app.protocolOperations.keys()].sort());
});
