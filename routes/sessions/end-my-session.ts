import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { clearedCookieHeaders } from '../../schemas/sessions.js';
import { type App, noContent } from '../app.js';
import { checkedByTheDomain } from '../items/definition.js';

export function endMySession(app: App): void {
  app.delete(
    '/me/sessions/:id',
    {
      schema: {
        operationId: 'endMySession',
        tags: ['Sessions'],
        summary: 'End one of one’s sessions',
        description:
          'None of its tokens and cookies works from the next request on. Ending the current session is logging out: our cookies that came with the request are taken away.',
        params: Type.Object({ id: Uuid('Identifier of the session.') }),
        response: {
          204: { ...noContent('It is ended.'), headers: clearedCookieHeaders },
          ...errorResponses('FORBIDDEN'),
        },
      },
      validatorCompiler: checkedByTheDomain,
    },
    async (request, reply) => {
      const isCurrent = await app.openSessions.endOwn(request.currentUser, request.params.id);
      if (isCurrent) reply.clearReceivedCookies();
      return reply.code(204).send();
    },
  );
}
