import { errorResponses } from '../../schemas/errors.js';
import { sessionCarriers } from '../../schemas/security.js';
import { clearedCookieHeaders, LogoutBody } from '../../schemas/sessions.js';
import { type App, noContent } from '../app.js';

export function logout(app: App): void {
  app.post(
    '/logout',
    {
      config: {
        access: 'anonymous',
        evaluatesSessionCookie: true,
        beforeTfa: true,
        recordedAs: ['logout', 'sessions'],
        acceptsUnknownKeys: true,
      },
      schema: {
        operationId: 'logout',
        tags: ['Authentication'],
        summary: 'Log out',
        description:
          'Ends the session that the refresh token or session cookie belongs to. All tokens of the session become invalid, and the authentication cookies sent with the request are cleared. If the token is unknown, or was replaced more than `SESSION_REFRESH_GRACE_PERIOD` ago, the request succeeds but does not end a session.',
        security: sessionCarriers,
        body: LogoutBody,
        response: {
          204: { ...noContent('The session has ended, or there was none.'), headers: clearedCookieHeaders },
          ...errorResponses('FORBIDDEN'),
        },
      },
    },
    async (request, reply) => {
      const credential = reply.presentedTokens(request.body);
      await app.sessions.logout(credential, request.client);
      reply.clearReceivedCookies();
      return reply.code(204).send();
    },
  );
}
