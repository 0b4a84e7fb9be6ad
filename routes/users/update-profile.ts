import { errorResponses } from '../../schemas/errors.js';
import { ProfileChanges, ProfileResponse } from '../../schemas/own-account.js';
import type { App } from '../app.js';

export function updateProfile(app: App): void {
  app.patch(
    '/me/profile',
    {
      config: {
        access: 'authenticated',
        credentials: ['session'],
        isSelfService: true,
        recordedAs: ['update', 'users'],
      },
      schema: {
        operationId: 'updateProfile',
        tags: ['Own account'],
        summary: 'Update your profile',
        description: 'Changes your first and last name, language, and picture. Requires no permission.',
        body: ProfileChanges,
        response: {
          200: { ...ProfileResponse, description: 'Your updated profile.' },
          ...errorResponses('VALUE_TOO_LONG'),
        },
      },
    },
    async (request) => ({ data: await app.ownAccount.updateProfile(request.currentUser, request.body) }),
  );
}
