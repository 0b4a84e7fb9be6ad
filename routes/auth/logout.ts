import { errorResponses } from '../../schemas/errors.js';
import { sessionCarriers } from '../../schemas/security.js';
import { clearedCookieHeaders, LogoutBody } from '../../schemas/sessions.js';
import { type App, noContent } from '../app.js';

/** Operation 2 (contract 2.3). */
export function logout(app: App): void {
  app.post(
    '/logout',
    {
      config: { takesDeadCookie: true },
      schema: {
        operationId: 'logout',
        tags: ['Authentication'],
        summary: 'End a session',
        description:
          'Ends the session of the refresh token or session cookie: no token of it works any more. Ours among the cookies of the request are taken away.',
        security: sessionCarriers,
        body: LogoutBody,
        response: {
          204: { ...noContent('The session is ended, or there was none.'), headers: clearedCookieHeaders },
          ...errorResponses('FORBIDDEN'),
        },
      },
    },
    async (request, reply) => {
      const credential = request.sessionCredential(request.body);
      await app.sessions.logout(credential, request.client);
      reply.clearReceivedCookies();
      return reply.code(204).send();
    },
  );
}
