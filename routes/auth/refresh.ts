import { errorResponses } from '../../schemas/errors.js';
import { sessionCarriers } from '../../schemas/security.js';
import { cookieHeaders, RefreshBody, SessionTokensResponse } from '../../schemas/sessions.js';
import type { App } from '../app.js';

/** Operation 7 (contract 2.2). */
export function refresh(app: App): void {
  app.post(
    '/refresh',
    {
      schema: {
        operationId: 'refresh',
        tags: ['Authentication'],
        summary: 'Exchange a refresh token for new tokens',
        description:
          'A refresh token works once. When one that was replaced some time ago is used again, someone has a copy: the whole session is ended. In mode `session` the cookie is replaced, and the old one works for a short while still.',
        security: sessionCarriers,
        body: RefreshBody,
        response: {
          200: { ...SessionTokensResponse, description: 'The new tokens.', headers: cookieHeaders },
          ...errorResponses('FORBIDDEN'),
        },
      },
    },
    async (request, reply) => {
      const credential = request.sessionCredential(request.body);
      return { data: reply.deliver(await app.sessions.refresh(credential, request.client)) };
    },
  );
}
