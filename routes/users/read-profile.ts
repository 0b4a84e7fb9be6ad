import { errorResponses } from '../../schemas/errors.js';
import { ProfileResponse } from '../../schemas/own-account.js';
import type { App } from '../app.js';

export function readProfile(app: App): void {
  app.get(
    '/me/profile',
    {
      config: { access: 'authenticated', beforeTfa: true },
      schema: {
        operationId: 'readProfile',
        tags: ['Own account'],
        summary: 'Read your profile',
        description:
          'Returns your own account. No permission is required, unlike `GET /users/me`, which returns what your permissions let you read. A static token can be used.',
        response: { 200: { ...ProfileResponse, description: 'Your profile.' }, ...errorResponses() },
      },
    },
    async (request) => ({ data: await app.ownAccount.readProfile(request.currentUser) }),
  );
}
