import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError, type ErrorCode, withErrors } from '../../schemas/errors.js';
import { securityOf } from '../../schemas/security.js';
import { definePlugin } from '../platform/plugin.js';
import { acceptedBy, acceptedByDefault, type CredentialKind, credentialNames, refusedAmong } from './credential.js';
import { changesSomething } from './dry-run.js';
import { acceptsIdempotencyKey } from './idempotency-key.js';

/** An operation of the API, with what its route declares. */
export interface ApiOperation {
  method: string;
  url: string;
  /** The topic of the operation. */
  tag?: string | undefined;
  config: FastifyContextConfig;
}

declare module '../platform/plugin.js' {
  interface Services {
    /** All operations of the API, by operation ID. */
    operations: ReadonlyMap<string, ApiOperation>;
    /** The documented endpoints of other protocols, by operation ID. */
    protocolOperations: ReadonlyMap<string, ApiOperation>;
  }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Why an operation that changes something is not recorded in the audit log. */
    notRecorded?: string;
    /** Set for operations of the Directus API, which ignore keys in the body that they do not know. All others reject them. */
    acceptsUnknownKeys?: true;
  }
}

const kinds = Object.keys(credentialNames) as CredentialKind[];

/**
 * Checks at boot that every route follows the project's rules. A route of the API must have an operation ID and declared responses,
 * and its config must say who may call it; the OpenAPI document takes the accepted credentials from there. Any other route must be in
 * a scope that is not part of the API (`protocol.ts`). An operation that changes something must also declare its action in the audit
 * log, or why it has none.
 */
export const routeRulesPlugin = definePlugin('http/route-rules', (_services, app) => {
  const operations = new Map<string, ApiOperation>();
  const protocolOperations = new Map<string, ApiOperation>();

  app.addHook('onRoute', function (route) {
    const { schema } = route;
    if (!this.protocol.isApi) {
      const { operationId } = schema ?? {};
      if (operationId && route.method !== 'HEAD')
        protocolOperations.set(operationId, {
          method: String(route.method),
          url: route.url,
          tag: schema?.tags?.[0],
          config: route.config ?? {},
        });
      return;
    }
    const request = `${route.method} ${route.url}`;
    const operation = schema?.operationId;
    if (!operation) throw new Error(`${request} has no operationId.`);
    const what = `${request} (${operation})`;
    if (!schema?.response) throw new Error(`${what} declares no responses, so its handler could return anything.`);
    const config = route.config ?? {};
    const { access, needs, scope, beforeTfa, recordedAs, notRecorded, acceptsUnknownKeys, requiresFresh } = config;
    if (!access || access === 'open') throw new Error(`${what} does not declare who may call it (config.access).`);
    if (access === 'permission' && needs === undefined)
      throw new Error(`${what} does not declare what its callers need (config.needs).`);
    const twin = operations.get(operation);
    if (twin && twin.url !== route.url) throw new Error(`${what} and ${twin.url} have the same operationId.`);
    const isRead = [route.method].flat().every((method) => ['GET', 'HEAD', 'SEARCH'].includes(method));
    if (!isRead && (recordedAs === undefined) === (notRecorded === undefined)) {
      throw new Error(
        `${what} must declare how it is recorded (config.recordedAs), or why it is not (config.notRecorded).`,
      );
    }
    if (!twin)
      operations.set(operation, { method: String(route.method), url: route.url, tag: schema.tags?.[0], config });
    if (!isRead && !acceptsUnknownKeys) {
      if (!schema.body) route.preValidation = [route.preValidation ?? [], refuseBody].flat();
      else if (!isClosed(app, schema.body as BodySchema)) throw new Error(`${what} accepts unknown keys in its body.`);
    }
    // Without public permissions, as in a new installation, callers who need a permission need a credential.
    schema.security ??= securityOf[access === 'permission' && needs !== 'nothing' ? 'authenticated' : access];
    const unknown = acceptedBy(config).find((kind) => !kinds.includes(kind));
    if (unknown !== undefined) throw new Error(`${what} accepts an unknown kind of credential: ${unknown}.`);
    // Otherwise, callers could omit the credential.
    if (refusedAmong(acceptedByDefault, config).length > 0 && access !== 'authenticated')
      throw new Error(`${what} does not accept all credentials, but requires none (config.access).`);
    const implied: ErrorCode[] = [];
    const isLimited = access !== 'anonymous' && (scope !== undefined || refusedAmong(kinds, config).length > 0);
    // Also for public operations: a user who must set up two-factor authentication first may send their token along.
    if (!beforeTfa || needs !== undefined || isLimited) implied.push('FORBIDDEN');
    if (changesSomething({ method: route.method, config })) implied.push('INVALID_QUERY');
    if (acceptsIdempotencyKey(route)) implied.push('UNPROCESSABLE_CONTENT');
    if (requiresFresh) implied.push('REAUTHENTICATION_REQUIRED');
    schema.response = withErrors(schema.response as Record<string, unknown>, implied);
  });
  return { operations, protocolOperations };
});

interface BodySchema {
  $ref?: string;
  anyOf?: BodySchema[];
  additionalProperties?: unknown;
}

/** Whether a schema rejects unknown keys. */
function isClosed(app: Pick<FastifyInstance, 'getSchema'>, { $ref, anyOf, additionalProperties }: BodySchema): boolean {
  if ($ref !== undefined) return isClosed(app, app.getSchema($ref.replace(/#$/, '')) as BodySchema);
  return anyOf ? anyOf.every((schema) => isClosed(app, schema)) : additionalProperties === false;
}

/** For operations without a body: an empty object is accepted, because some clients always send one. */
async function refuseBody({ body }: FastifyRequest): Promise<void> {
  if (typeof body !== 'object' || body === null) return;
  const [key] = Object.keys(body);
  if (key !== undefined || Array.isArray(body))
    throw new ApiError('INVALID_PAYLOAD', { reason: 'This operation has no request body' });
}
