import { errorResponses } from '../../schemas/errors.js';
import { InviteBody } from '../../schemas/invites.js';
import { type App, noContent } from '../app.js';
import { writeTimeoutMs } from '../items/definition.js';

export function invite(app: App): void {
  app.post(
    '/invite',
    {
      config: {
        access: 'permission',
        scope: 'users:create',
        needs: { collection: 'users', action: 'create', fields: ['email', 'role', 'status'], unconditional: true },
        timeoutMs: writeTimeoutMs,
        recordedAs: ['invite', 'users'],
        acceptsUnknownKeys: true,
      },
      schema: {
        operationId: 'invite',
        tags: ['Invitations'],
        summary: 'Invite users by email',
        description:
          'Creates a user with the status `invited` for each address, and sends an email with a link to accept the invitation. Users who are already invited receive the email again; their role changes only if you are an administrator. `role` is optional if all addresses belong to such users. The email says who invites. Other existing users are not affected. Requires permission to create users with `email`, `role`, and `status`. Fails with `FORBIDDEN` if the role, or a user who is already invited, has rights that you do not have. You can invite up to 100 addresses per request. Administrators can invite up to `MAX_BATCH_MUTATION`.',
        body: InviteBody,
        response: {
          204: noContent('The emails are being sent.'),
          ...errorResponses('REAUTHENTICATION_REQUIRED', 'INVALID_FOREIGN_KEY'),
        },
      },
    },
    async (request, reply) => {
      const { email, role, invite_url: url } = request.body;
      const emails = Array.isArray(email) ? email : [email];
      await app.invites.invite(request.caller, { emails, role: role?.toLowerCase(), url });
      return reply.code(204).send();
    },
  );
}
