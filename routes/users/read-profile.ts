import { errorResponses } from '../../schemas/errors.js';
import { ProfileResponse } from '../../schemas/own-account.js';
import type { App } from '../app.js';

export function readProfile(app: App): void {
  app.get(
    '/me/profile',
    {
      config: { access: 'authenticated', scope: 'users:read', beforeTfa: true },
      schema: {
        operationId: 'readProfile',
        tags: ['Own account'],
        summary: 'Read your profile',
        description:
          'Returns your own account. Unlike `GET /users/me`, which returns only what your permissions allow you to read, this operation requires no permission. You can use a static token.',
        response: { 200: { ...ProfileResponse, description: 'Your profile.' }, ...errorResponses() },
      },
    },
    async (request) => ({ data: await app.ownAccount.readProfile(request.currentUser) }),
  );
}
