import { errorResponses } from '../../schemas/errors.js';
import { KeySet, keySetHeaders, keySetMaxAge } from '../../schemas/jwks.js';
import type { App } from '../app.js';

export function readKeySet(app: App): void {
  app.get(
    '/jwks.json',
    {
      schema: {
        operationId: 'readKeySet',
        tags: ['Authentication'],
        summary: 'Read the public keys of access tokens',
        description:
          'A JSON Web Key Set (RFC 7517), not wrapped in `data`, with which other services verify access tokens by themselves. It is empty where access tokens are signed with `HS256`.',
        response: {
          200: { ...KeySet, description: 'The keys.', headers: keySetHeaders },
          ...errorResponses('FORBIDDEN'),
        },
      },
    },
    async (_request, reply) => {
      reply.header('cache-control', `public, max-age=${keySetMaxAge}`);
      return app.signingKeys.published();
    },
  );
}
