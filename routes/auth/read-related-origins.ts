import { errorResponses, routeNotFound } from '../../schemas/errors.js';
import { RelatedOrigins } from '../../schemas/passkeys.js';
import type { App } from '../app.js';

export function readRelatedOrigins(app: App): void {
  app.get(
    '/webauthn',
    {
      config: { access: 'anonymous', beforeTfa: true },
      schema: {
        operationId: 'readRelatedOrigins',
        tags: ['Passkeys'],
        summary: 'Read the related origins',
        description:
          'Returns the origins that can use the passkeys of this service. Browsers request this list (Related Origin Requests in WebAuthn Level 3). The response is not wrapped in `data`. Fails with `ROUTE_NOT_FOUND` if all origins in `WEBAUTHN_ORIGINS` are in the domain of the RP ID, or if `AUTH_PASSKEYS` is `false`.',
        response: {
          200: { ...RelatedOrigins, description: 'The origins.' },
          ...errorResponses('ROUTE_NOT_FOUND'),
        },
      },
    },
    async (request) => {
      if (app.relatedOrigins === null) throw routeNotFound(request);
      return { origins: [...app.relatedOrigins] };
    },
  );
}
