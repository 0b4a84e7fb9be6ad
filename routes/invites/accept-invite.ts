import { errorResponses } from '../../schemas/errors.js';
import { AcceptInviteBody } from '../../schemas/invites.js';
import { type App, noContent } from '../app.js';

export function acceptInvite(app: App): void {
  app.post(
    '/invite/accept',
    {
      config: { access: 'anonymous', recordedAs: ['invite_accept', 'users'], acceptsUnknownKeys: true },
      schema: {
        operationId: 'acceptInvite',
        tags: ['Invitations'],
        summary: 'Accept an invitation',
        description:
          'Activates the invited user and sets the password. The token works only once. Fails with `INVALID_INVITE` if the invitation can no longer be accepted.',
        body: AcceptInviteBody,
        response: {
          204: noContent('The user is active.'),
          ...errorResponses('INVALID_INVITE', 'FAILED_VALIDATION'),
        },
      },
    },
    async (request, reply) => {
      await app.invites.accept(request.body.token, request.body.password, request.client);
      return reply.code(204).send();
    },
  );
}
