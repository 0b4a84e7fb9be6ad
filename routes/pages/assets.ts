import { Type } from '@sinclair/typebox';
import { routeNotFound } from '../../schemas/errors.js';
import type { App } from '../app.js';

const cacheForever = 'public, max-age=31536000, immutable';
const revalidate = 'public, no-cache';

/** Scripts and styles. Clients can cache a URL with the current version forever, and must revalidate any other URL. */
export function assetRoutes(app: App): void {
  app.get(
    '/assets/:name',
    { schema: { hide: true, params: Type.Object({ name: Type.String() }) } },
    async (request, reply) => {
      const asset = app.pages.asset(request.params.name);
      if (!asset) throw routeNotFound(request);
      const etag = `"${asset.version}"`;
      const isCurrent = (request.query as { v?: unknown }).v === asset.version;
      reply.headers({
        etag,
        'cache-control': isCurrent ? cacheForever : revalidate,
        'content-type': asset.mediaType,
      });
      const known = request.headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
      return known?.includes(etag) ? reply.code(304).send() : reply.send(asset.body);
    },
  );
}
