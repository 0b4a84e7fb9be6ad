import { ApiError } from '../../schemas/errors.js';
import type { App } from '../app.js';

/** Prometheus metrics for clients that send METRICS_TOKEN. Not part of the API; registered only if METRICS_TOKEN is set. */
export async function metricsRoutes(app: App): Promise<void> {
  const { metrics } = app;

  // Protected by its own token, which is not a credential of any user.
  app.setProtocol({ isApi: false, config: { access: 'open', isProbe: true } });
  app.get('/', async (request, reply) => {
    if (!metrics || !app.hasMetricsToken(request)) throw new ApiError('INVALID_CREDENTIALS');
    return reply
      .header('cache-control', 'no-store')
      .type(metrics.contentType)
      .send(await metrics.text());
  });
}
