import type { FastifyInstance, FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import type { RecordedAs } from '../../schemas/activity.js';
import { ApiError, withErrors } from '../../schemas/errors.js';
import type { Need, RouteAccess } from '../../schemas/needs.js';
import { securityOf } from '../../schemas/security.js';

/** The only places for routes that are not part of the API, and who may call them. */
const hiddenPlaces: readonly [place: RegExp, access: RouteAccess][] = [
  [/^\/(docs(\/|$)|openapi\.(json|yaml)$)/, 'open'],
  // Pages for people: they tell by themselves who is there.
  [/^\/account(\/|$)/, 'open'],
  [/^\/$/, 'open'],
  [/^\/mailbox(\/|$)/, 'anonymous'],
  // Behind a token of its own, which is nobody's credential.
  [/^\/metrics(\/|$)/, 'open'],
];

/**
 * Holds every route to the rules of the house, at boot: a name, declared answers, and a line in the access map, which
 * also says in the OpenAPI document which credentials the route takes; or a place among those that are hidden from the OpenAPI document.
 * What changes anything also says what the audit log is to call it, or why it is not in there.
 */
export const routeRulesPlugin = plugin<{
  accessMap: Readonly<Record<string, Exclude<RouteAccess, 'open'>>>;
  beforeTfa: ReadonlySet<string>;
  /** What callers of an operation need. Every operation with access `permission` is listed. */
  needs: Readonly<Record<string, Need>>;
  /** Operations of the Directus API, which treat unknown keys of a body as Directus does. All others refuse them. */
  directusOperations: ReadonlySet<string>;
  recordedAs: Readonly<Record<string, RecordedAs>>;
  /** Operations that change something, and why they are not recorded. */
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

/** Whether a schema refuses keys that it does not list. */
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
