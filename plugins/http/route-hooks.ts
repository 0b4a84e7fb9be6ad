import type { FastifyRequest, RouteOptions } from 'fastify';

/** Adds a hook to a route whose config requires it. It runs after the route's other hooks of this kind. */
export function addRouteHook(
  route: RouteOptions,
  kind: 'onRequest' | 'preHandler',
  hook: (request: FastifyRequest) => Promise<void>,
): void {
  route[kind] = [...[route[kind] ?? []].flat(), hook];
}
