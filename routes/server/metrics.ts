import { createHash, timingSafeEqual } from 'node:crypto';
import { ApiError } from '../../schemas/errors.js';
import type { App } from '../app.js';

const digest = (text: string) => createHash('sha256').update(text).digest();

/** Prometheus metrics for clients that send METRICS_TOKEN. Not part of the API; registered only if METRICS_TOKEN is set. */
export async function metricsRoutes(app: App): Promise<void> {
  const { metrics, config } = app;
  const wanted = digest(`Bearer ${config.METRICS_TOKEN}`);

  app.get('/', { schema: { hide: true } }, async (request, reply) => {
    const isKnown = timingSafeEqual(digest(request.headers.authorization ?? ''), wanted);
    if (!metrics || !isKnown) throw new ApiError('INVALID_CREDENTIALS');
    return reply
      .header('cache-control', 'no-store')
      .type(metrics.contentType)
      .send(await metrics.text());
  });
}
