import { errorResponses } from '../../schemas/errors.js';
import { optionalCredential } from '../../schemas/security.js';
import { Health } from '../../schemas/server.js';
import { deadCookieHeaders } from '../../schemas/sessions.js';
import type { App } from '../app.js';

const mediaType = 'application/health+json';

export function serverHealth(app: App): void {
  const { 503: unavailable, ...errors } = errorResponses();
  app.get(
    '/health',
    {
      config: { access: 'anonymous' },
      schema: {
        operationId: 'serverHealth',
        tags: ['Server'],
        summary: 'Check the health of the service',
        description: 'For load balancers and monitoring. Administrators also get the state of each component.',
        security: optionalCredential,
        response: {
          200: {
            description: 'The service is healthy.',
            headers: deadCookieHeaders,
            content: { [mediaType]: { schema: Health } },
          },
          ...errors,
          503: {
            description:
              'A required component is down. The error is `SERVICE_UNAVAILABLE` if the component is needed to check the credential.',
            headers: deadCookieHeaders,
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
