import { Type } from '@sinclair/typebox';
import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';

/** For a user who has lost their app and their recovery codes (contract 2). */
export function disableTfaOfUser(app: App): void {
  app.post(
    '/:id/tfa/disable',
    {
      schema: {
        operationId: 'disableTfaOfUser',
        tags: ['Two-factor authentication'],
        summary: 'Turn two-factor authentication off for a user',
        description: 'For administrators only. All sessions of the user end.',
        params: Type.Object({ id: Type.String({ description: 'Identifier of the user.' }) }),
        response: { 204: noContent('It is off.'), ...errorResponses('FORBIDDEN') },
      },
    },
    async (request, reply) => {
      await app.tfa.disableFor(request.currentUser, request.params.id);
      return reply.code(204).send();
    },
  );
}
