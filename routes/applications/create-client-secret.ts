import { Type } from '@sinclair/typebox';
import { ClientSecretResponse } from '../../schemas/clients.js';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import type { App } from '../app.js';

export function createClientSecret(app: App): void {
  app.post(
    '/:id/secret',
    {
      config: { access: 'authenticated', needs: 'administrator', recordedAs: ['secret_create', 'clients'] },
      schema: {
        operationId: 'createClientSecret',
        tags: ['Clients'],
        summary: "Replace a client's secret",
        description:
          'Creates a new secret for a confidential client. The secret before it is still accepted for one day, and older ones are not. Save the secret: no other response contains it. Your session must be fresh. Fails with `FORBIDDEN` if the client does not exist, and with `UNPROCESSABLE_CONTENT` if it is public, or if its secret is declared in `CLIENTS`.',
        params: Type.Object({ id: Uuid('The ID of the client.') }),
        response: {
          200: { ...ClientSecretResponse, description: 'The new secret.' },
          ...errorResponses('REAUTHENTICATION_REQUIRED', 'UNPROCESSABLE_CONTENT'),
        },
      },
    },
    async (request) => ({
      data: { secret: await app.createClientSecret(request.currentUser, request.params.id.toLowerCase()) },
    }),
  );
}
