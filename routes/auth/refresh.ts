import { errorResponses } from '../../schemas/errors.js';
import { sessionCarriers } from '../../schemas/security.js';
import { cookieHeaders, RefreshBody, SessionTokensResponse } from '../../schemas/sessions.js';
import type { App } from '../app.js';

export function refresh(app: App): void {
  app.post(
    '/refresh',
    {
      config: {
        access: 'anonymous',
        evaluatesSessionCookie: true,
        beforeTfa: true,
        notRecorded:
          'Continues a session whose start is recorded. Only the reuse of a replaced token adds information.',
        acceptsUnknownKeys: true,
      },
      schema: {
        operationId: 'refresh',
        tags: ['Authentication'],
        summary: 'Refresh tokens',
        description:
          'Replaces the refresh token or, in mode `session`, the session cookie, and returns a new access token. You can repeat the request: for a short time (SESSION_REFRESH_GRACE_PERIOD) after the replacement, the replaced token returns the same successor, so a lost response or a second tab does not sign the user out. After that time, presenting the replaced token returns 401 and ends the session, because the token may have been copied. After a 503, retry after the time in Retry-After.',
        security: sessionCarriers,
        body: RefreshBody,
        response: {
          200: { ...SessionTokensResponse, description: 'The new tokens.', headers: cookieHeaders },
          ...errorResponses('FORBIDDEN'),
        },
      },
    },
    async (request, reply) => {
      const credential = reply.sessionCredential(request.body);
      return { data: reply.deliver(await app.sessions.refresh(credential, request.client)) };
    },
  );
}
