import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';

export function withdrawGrantOfUser(app: App): void {
  app.delete(
    '/:id/grants/:grant',
    {
      config: { access: 'authenticated', needs: 'administrator', recordedAs: ['application_withdraw', 'grants'] },
      schema: {
        operationId: 'withdrawGrantOfUser',
        tags: ['Grants'],
        summary: 'Withdraw access for a user',
        description:
          "Ends the access of an application to a user's account. Its codes and tokens are rejected from the next request on. Requires administrator access.",
        params: Type.Object({ id: Uuid('The ID of the user.'), grant: Uuid('The ID of the grant.') }),
        response: { 204: noContent('The access has ended.'), ...errorResponses() },
      },
    },
    async (request, reply) => {
      await app.grants.withdrawOf(request.currentUser, request.params.id, request.params.grant);
      return reply.code(204).send();
    },
  );
}
