import { Type } from '@sinclair/typebox';
import { routeNotFound } from '../../schemas/errors.js';
import type { App } from '../app.js';

/** Scripts and styles. Clients can cache a URL with the current version forever, and must revalidate any other URL. */
export function assetRoutes(app: App): void {
  app.get('/assets/:name', { schema: { params: Type.Object({ name: Type.String() }) } }, async (request, reply) => {
    const asset = app.pages.asset(request.params.name);
    if (!asset) throw routeNotFound(request);
    return reply.sendStaticFile(asset);
  });
}
