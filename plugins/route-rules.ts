import plugin from 'fastify-plugin';
import type { RecordedAs } from '../schemas/activity.js';
import { securityOf } from '../schemas/security.js';
import type { RouteAccess } from './access/index.js';

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
  recordedAs: Readonly<Record<string, RecordedAs>>;
  /** Operations that change something, and why they are not recorded. */
  unrecorded: Readonly<Record<string, string>>;
}>(
  async (app, { accessMap, beforeTfa, recordedAs, unrecorded }) => {
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
      const twin = named.get(operation);
      if (twin !== undefined && twin !== route.url) throw new Error(`${what} and ${twin} are both named ${operation}.`);
      const recorded = Object.hasOwn(recordedAs, operation) ? recordedAs[operation] : undefined;
      const isRead = [route.method].flat().every((method) => ['GET', 'HEAD', 'SEARCH'].includes(method));
      if (!isRead && !recorded && !Object.hasOwn(unrecorded, operation)) {
        throw new Error(`${what} (${operation}) neither says what it is recorded as, nor why it is not.`);
      }
      named.set(operation, route.url);
      schema.security ??= securityOf[access];
      route.config = {
        ...route.config,
        access,
        beforeTfa: beforeTfa.has(operation),
        ...(recorded ? { recordedAs: recorded } : {}),
      };
    });
  },
  { name: 'route-rules' },
);
