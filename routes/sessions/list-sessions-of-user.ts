import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { SessionsResponse } from '../../schemas/sessions.js';
import type { App } from '../app.js';
import { checkedByTheDomain } from '../items/definition.js';

export function listSessionsOfUser(app: App): void {
  app.get(
    '/:id/sessions',
    {
      schema: {
        operationId: 'listSessionsOfUser',
        tags: ['Sessions'],
        summary: 'List where a user is signed in',
        description: 'For administrators only. The latest used first; at most 1000.',
        params: Type.Object({ id: Uuid('Identifier of the user.') }),
        response: { 200: { ...SessionsResponse, description: 'The sessions.' }, ...errorResponses('FORBIDDEN') },
      },
      validatorCompiler: checkedByTheDomain,
    },
    async (request) => ({ data: await app.openSessions.listOf(request.currentUser, request.params.id) }),
  );
}
