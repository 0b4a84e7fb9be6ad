import { errorResponses } from '../../schemas/errors.js';
import { optionalCredential } from '../../schemas/security.js';
import { Health } from '../../schemas/server.js';
import { invalidCookieHeaders } from '../../schemas/sessions.js';
import type { App } from '../app.js';

const mediaType = 'application/health+json';

export function serverHealth(app: App): void {
  const { 503: unavailable, ...errors } = errorResponses();
  app.get(
    '/health',
    {
      config: { access: 'anonymous', isForMonitoring: true, isProbe: true },
      schema: {
        operationId: 'serverHealth',
        tags: ['Server'],
        summary: 'Check the health of the service',
        description:
          'Returns the health of the service, for load balancers and monitoring. Administrators also receive the state of each component, and so do clients that send `METRICS_TOKEN` as a bearer token. With `METRICS_TOKEN`, the response contains the results of the last regular check, and the request does not use the database.',
        security: optionalCredential,
        response: {
          200: {
            description: 'The service is healthy.',
            headers: invalidCookieHeaders,
            content: { [mediaType]: { schema: Health } },
          },
          ...errors,
          503: {
            description:
              'A required component is unavailable. If the service needs the component to check your credential, it returns the error `SERVICE_UNAVAILABLE` instead of the health result.',
            headers: invalidCookieHeaders,
            content: { [mediaType]: { schema: Health }, 'application/json': { schema: unavailable } },
          },
        },
      },
    },
    async (request, reply) => {
      const { principal, monitor } = request;
      const { status, checks } = await (monitor === 'metrics token' ? app.health.latest() : app.health.check());
      const seesDetails = principal?.admin || monitor !== null;
      return reply
        .code(status === 'error' ? 503 : 200)
        .type(mediaType)
        .send(seesDetails ? { status, version: app.serviceVersion, checks } : { status });
    },
  );
}
