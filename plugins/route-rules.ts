import plugin from 'fastify-plugin';
import type { RouteAccess } from './access/index.js';

/** Where the API reference is: the only place for routes that are not part of the API. */
const referencePath = /^\/(docs(\/|$)|openapi\.(json|yaml)$)/;

/**
 * Holds every route to the rules of the house, at boot: a name, declared answers, and a line in the access map. A route
 * that is hidden from the OpenAPI document (the document itself and its page) is open to all.
 */
export const routeRulesPlugin = plugin<{
  accessMap: Readonly<Record<string, RouteAccess>>;
  beforeTfa: ReadonlySet<string>;
}>(
  async (app, { accessMap, beforeTfa }) => {
    const named = new Map<string, string>();

    app.addHook('onRoute', (route) => {
      const { schema } = route;
      if (schema?.hide && referencePath.test(route.url)) {
        route.config = { ...route.config, access: 'open' };
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
      route.config = { ...route.config, access, beforeTfa: beforeTfa.has(operation) };
    });
  },
  { name: 'route-rules' },
);
