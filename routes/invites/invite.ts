import { errorResponses } from '../../schemas/errors.js';
import { InviteBody } from '../../schemas/invites.js';
import { type App, noContent } from '../app.js';
import { deadlineOfWrites } from '../items/definition.js';

/** Operation 16 (contract 2.12). */
export function invite(app: App): void {
  app.post(
    '/invite',
    {
      config: { deadline: deadlineOfWrites },
      schema: {
        operationId: 'invite',
        tags: ['Invitations'],
        summary: 'Invite users by e-mail',
        description:
          'Makes an `invited` user of each address and sends a link to accept. Who is invited already gets the link again, with the new role; nothing happens to other users. Needs the right to create users with e-mail, role and status.',
        body: InviteBody,
        response: {
          204: noContent('The mails are on their way.'),
          ...errorResponses('FORBIDDEN', 'INVALID_FOREIGN_KEY'),
        },
      },
    },
    async (request, reply) => {
      const { email, role, invite_url: url } = request.body;
      const emails = Array.isArray(email) ? email : [email];
      await app.invites.invite(request.caller, { emails, role: role.toLowerCase(), url });
      return reply.code(204).send();
    },
  );
}
