import plugin from 'fastify-plugin';
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
 */
export const routeRulesPlugin = plugin<{
  accessMap: Readonly<Record<string, Exclude<RouteAccess, 'open'>>>;
  beforeTfa: ReadonlySet<string>;
}>(
  async (app, { accessMap, beforeTfa }) => {
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
      named.set(operation, route.url);
      schema.security ??= securityOf[access];
      route.config = { ...route.config, access, beforeTfa: beforeTfa.has(operation) };
    });
  },
  { name: 'route-rules' },
);
