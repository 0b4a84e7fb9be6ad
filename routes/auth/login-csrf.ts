import type { FastifyRequest } from 'fastify';
import type { SessionMode } from '../../schemas/sessions.js';

/** Login CSRF: another site must not log a user's browser in to an account of its choice. */
export const refuseForeignLogin = async (
  request: Pick<FastifyRequest, 'requireOwnSite'> & { body: { mode?: SessionMode } },
): Promise<void> => {
  if ((request.body.mode ?? 'json') !== 'json') request.requireOwnSite();
};
