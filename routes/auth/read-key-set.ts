import { errorResponses } from '../../schemas/errors.js';
import { KeySet, keySetHeaders, keySetMaxAge } from '../../schemas/jwks.js';
import type { App } from '../app.js';

export function readKeySet(app: App): void {
  app.get(
    '/jwks.json',
    {
      config: { access: 'anonymous' },
      schema: {
        operationId: 'readKeySet',
        tags: ['Authentication'],
        summary: 'Read the signing keys',
        description:
          'Returns a JSON Web Key Set (RFC 7517), which other services use to verify tokens without calling Gatehouse. The response is not wrapped in `data`. The set is empty if access tokens are signed with `HS256` and no application has used OpenID Connect yet.',
        response: {
          200: { ...KeySet, description: 'The keys.', headers: keySetHeaders },
          ...errorResponses(),
        },
      },
    },
    async (_request, reply) => {
      reply.header('cache-control', `public, max-age=${keySetMaxAge}`);
      return app.signingKeys.published();
    },
  );
}
