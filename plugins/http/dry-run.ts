import { type TObject, type TSchema, Type } from '@sinclair/typebox';
import type { FastifyContextConfig, FastifyRequest } from 'fastify';
import { createUnitOfWork } from '../../db/unit-of-work.js';
import { ApiError } from '../../schemas/errors.js';
import { definePlugin } from '../platform/plugin.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the operation can be called with `dry_run=true`. All others that change something reject the parameter. */
    supportsDryRun?: true;
  }
}

const DryRun = Type.Optional(
  Type.Boolean({
    description:
      'Whether to change nothing. The response is the same as it would be otherwise, and `meta` contains `dry_run: true`. A deletion returns 200 with the IDs of the items that it would delete.',
    examples: [true],
  }),
);

const withDryRun = (query: TSchema = Type.Object({})): TObject =>
  ({ ...query, properties: { ...query.properties, dry_run: DryRun } }) as TObject;

const refuse = (reason: string) => new ApiError('INVALID_QUERY', { reason });

/** Whether a route changes something. A few GET requests do, such as the one that verifies an email address. */
export const changesSomething = ({ method, config }: { method: string | string[]; config?: FastifyContextConfig }) =>
  config?.recordedAs !== undefined ||
  ![method].flat().every((name) => ['GET', 'HEAD', 'SEARCH', 'OPTIONS'].includes(name));

/**
 * The parameter `dry_run`. The request is carried out as usual, in transactions that are rolled back when the response is known, so its
 * response and its errors are those of the real one. An operation that does not support it, or a value that is neither `true` nor `false`,
 * is rejected: a client that wants to try something out must not change it.
 */
export const dryRunPlugin = definePlugin('http/dry-run', (_services, app) => {
  const begin = async (request: FastifyRequest) => {
    const query = request.query as { dry_run?: unknown };
    const { dry_run: given } = query;
    if (given === undefined) return;
    if (!request.routeOptions.config.supportsDryRun) throw refuse('This operation does not support dry_run');
    if (given !== 'true' && given !== 'false') throw refuse('dry_run must be true or false');
    query.dry_run = given === 'true';
    if (query.dry_run) request.client.unit = createUnitOfWork({ isDryRun: true });
  };
  const end = async ({ cachedClient }: FastifyRequest) => {
    if (cachedClient?.unit?.isDryRun) await cachedClient.unit.rollBack();
  };

  app.addHook('onRoute', function (route) {
    const { config = {}, schema } = route;
    if (!this.protocol.isApi || !changesSomething({ method: route.method, config })) return;
    // Before the validation of the query, which expects a boolean.
    route.preValidation = [begin, ...[route.preValidation ?? []].flat()];
    if (!config.supportsDryRun || !schema) return;
    route.onSend = [end, ...[route.onSend ?? []].flat()];
    const documented = schema.documented?.querystring ?? schema.querystring;
    schema.querystring = withDryRun(schema.querystring as TSchema | undefined);
    schema.documented = { ...schema.documented, querystring: withDryRun(documented as TSchema | undefined) };
  });
});
