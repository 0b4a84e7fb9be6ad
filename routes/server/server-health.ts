import { errorResponses } from '../../schemas/errors.js';
import { optionalCredential } from '../../schemas/security.js';
import { Health } from '../../schemas/server.js';
import type { App } from '../app.js';

const mediaType = 'application/health+json';

export function serverHealth(app: App): void {
  const { 503: unavailable, ...errors } = errorResponses('FORBIDDEN');
  app.get(
    '/health',
    {
      schema: {
        operationId: 'serverHealth',
        tags: ['Server'],
        summary: 'See whether all is in order',
        description: 'For load balancers and monitoring. Administrators see the single parts.',
        security: optionalCredential,
        response: {
          200: { description: 'All is in order.', content: { [mediaType]: { schema: Health } } },
          ...errors,
          503: {
            description:
              'A part that the service needs is down. `SERVICE_UNAVAILABLE` when it is needed to check the credential.',
            content: { [mediaType]: { schema: Health }, 'application/json': { schema: unavailable } },
          },
        },
      },
    },
    async (request, reply) => {
      const { status, checks } = await app.health.check();
      return reply
        .code(status === 'ok' ? 200 : 503)
        .type(mediaType)
        .send(request.principal?.admin ? { status, version: app.serviceVersion, checks } : { status });
    },
  );
}
