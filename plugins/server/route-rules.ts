import type { FastifyInstance, FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import type { RecordedAs } from '../../schemas/activity.js';
import { ApiError, withErrors } from '../../schemas/errors.js';
import type { Need, RouteAccess } from '../../schemas/needs.js';
import { securityOf } from '../../schemas/security.js';

/** The only paths for routes that are not part of the API, and the access to them. */
const hiddenPlaces: readonly [place: RegExp, access: RouteAccess][] = [
  [/^\/(docs(\/|$)|openapi\.(json|yaml)$)/, 'open'],
  // Pages for users. They authenticate the user themselves.
  [/^\/account(\/|$)/, 'open'],
  [/^\/$/, 'open'],
  [/^\/mailbox(\/|$)/, 'anonymous'],
  // Protected by its own token, which is not a credential of any user.
  [/^\/metrics(\/|$)/, 'open'],
];

/**
 * Checks at boot that every route follows the project's rules. A route of the API must have an operation ID, declared responses,
 * and an entry in the access map, from which the OpenAPI document takes the accepted credentials. Any other route must be at one
 * of the hidden paths. An operation that changes something must also declare its action in the audit log, or why it has none.
 */
export const routeRulesPlugin = plugin<{
  accessMap: Readonly<Record<string, Exclude<RouteAccess, 'open'>>>;
  beforeTfa: ReadonlySet<string>;
  /** What callers of an operation need. Must list every operation with access `permission`. */
  needs: Readonly<Record<string, Need>>;
  /** Operations of the Directus API, which handle unknown keys in a body like Directus. All others reject them. */
  directusOperations: ReadonlySet<string>;
  recordedAs: Readonly<Record<string, RecordedAs>>;
  /** Operations that change something but are not recorded, with the reason. */
  unrecorded: Readonly<Record<string, string>>;
}>(
  async (app, { accessMap, beforeTfa, needs, directusOperations, recordedAs, unrecorded }) => {
    const named = new Map<string, string>();

    app.addHook('onRoute', (route) => {
      const { schema } = route;
      const [, hidden] = hiddenPlaces.find(([place]) => schema?.hide && place.test(route.url)) ?? [];
      if (hidden) {
        route.config = { ...route.config, access: hidden };
        return;
      }
      const what = `${route.method} ${route.url}`;
      const operation = schema?.operationId;
      if (!operation) throw new Error(`${what} has no operationId.`);
      if (!schema?.response)
        throw new Error(`${what} declares no responses: whatever the handler returns would go out.`);
      const access = Object.hasOwn(accessMap, operation) ? accessMap[operation] : undefined;
      if (!access) throw new Error(`${what} (${operation}) is not in the access map.`);
      const need = Object.hasOwn(needs, operation) ? needs[operation] : undefined;
      if (access === 'permission' && need === undefined)
        throw new Error(`${what} (${operation}) does not declare what its callers need.`);
      const twin = named.get(operation);
      if (twin !== undefined && twin !== route.url) throw new Error(`${what} and ${twin} are both named ${operation}.`);
      const recorded = Object.hasOwn(recordedAs, operation) ? recordedAs[operation] : undefined;
      const isRead = [route.method].flat().every((method) => ['GET', 'HEAD', 'SEARCH'].includes(method));
      if (!isRead && !recorded && !Object.hasOwn(unrecorded, operation)) {
        throw new Error(`${what} (${operation}) neither says what it is recorded as, nor why it is not.`);
      }
      named.set(operation, route.url);
      if (!isRead && !directusOperations.has(operation)) {
        if (!schema.body) route.preValidation = [route.preValidation ?? [], refuseBody].flat();
        else if (!isClosed(app, schema.body as BodySchema))
          throw new Error(`${what} (${operation}) accepts unknown keys in its body.`);
      }
      schema.security ??= securityOf[access];
      const { requiresSession, requiresFresh } = route.config ?? {};
      if (requiresSession || requiresFresh) {
        if (access !== 'authenticated') throw new Error(`${what} (${operation}) requires a session, but no user.`);
        schema.response = withErrors(schema.response as Record<string, unknown>, [
          'FORBIDDEN',
          ...(requiresFresh ? (['REAUTHENTICATION_REQUIRED'] as const) : []),
        ]);
      }
      route.config = {
        ...route.config,
        access,
        beforeTfa: beforeTfa.has(operation),
        ...(need === undefined ? {} : { needs: need }),
        ...(recorded ? { recordedAs: recorded } : {}),
      };
    });
  },
  { name: 'route-rules' },
);

interface BodySchema {
  $ref?: string;
  anyOf?: BodySchema[];
  additionalProperties?: unknown;
}

/** Whether a schema rejects unknown keys. */
function isClosed(app: FastifyInstance, { $ref, anyOf, additionalProperties }: BodySchema): boolean {
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
