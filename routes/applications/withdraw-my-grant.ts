import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';

export function withdrawMyGrant(app: App): void {
  app.delete(
    '/me/grants/:id',
    {
      config: { access: 'authenticated', credentials: ['session'], recordedAs: ['application_withdraw', 'grants'] },
      schema: {
        operationId: 'withdrawMyGrant',
        tags: ['Grants'],
        summary: "Withdraw an application's access",
        description:
          'Ends the access of an application to your account. Its codes and tokens are rejected from the next request on. APIs that verify access tokens themselves accept those until they expire.',
        params: Type.Object({ id: Uuid('The ID of the grant.') }),
        response: { 204: noContent('The access has ended.'), ...errorResponses() },
      },
    },
    async (request, reply) => {
      await app.grants.withdrawOwn(request.currentUser, request.params.id);
      return reply.code(204).send();
    },
  );
}
