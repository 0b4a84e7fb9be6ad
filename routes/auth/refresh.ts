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
        // The request may have succeeded, so the client must retry within the grace period.
        maxRetryAfter: Math.floor(app.config.SESSION_REFRESH_GRACE_PERIOD / 2_000),
        notRecorded:
          'Continues a session whose start is recorded. Only the reuse of a replaced token adds information.',
        writesUnrecorded: true,
        acceptsUnknownKeys: true,
      },
      schema: {
        operationId: 'refresh',
        tags: ['Authentication'],
        summary: 'Refresh tokens',
        description:
          'Replaces the refresh token or, in `session` mode, the session cookie, and returns a new access token. You can safely repeat the request: within `SESSION_REFRESH_GRACE_PERIOD` of the replacement, a request with the old token returns the same new token, so a lost response or a second browser tab does not log the user out. After that, presenting the old token fails with `INVALID_CREDENTIALS` and ends the session, because the token may have been stolen. If the request fails with 503, wait for the time in the `Retry-After` header, then try again.',
        security: sessionCarriers,
        body: RefreshBody,
        response: {
          200: { ...SessionTokensResponse, description: 'The new tokens.', headers: cookieHeaders },
          ...errorResponses('FORBIDDEN'),
        },
      },
    },
    async (request, reply) => {
      const credential = reply.presentedTokens(request.body);
      return { data: reply.sendTokens(await app.sessions.refresh(credential, request.client)) };
    },
  );
}
