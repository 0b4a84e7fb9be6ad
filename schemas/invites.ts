import { Type } from '@sinclair/typebox';
import { Email, named, Uuid } from './common.js';
import { exampleLinkToken, LinkToken } from './link-tokens.js';

export const InviteBody = named(
  'InviteBody',
  Type.Object(
    {
      email: Type.Union([Email('The address to invite.'), Type.Array(Email('An address to invite.'))], {
        description: 'The address to invite, or a list of addresses.',
      }),
      role: Type.Optional(
        Uuid(
          'The ID of the role to assign to the invited users. Optional if all addresses belong to users who are already invited; they then keep their role.',
        ),
      ),
      invite_url: Type.Optional(
        Type.String({
          description:
            'The URL for the link in the email. The service adds the token as the query parameter `token`. The URL must be listed in `USER_INVITE_URL_ALLOW_LIST`.',
        }),
      ),
    },
    {
      additionalProperties: false,
      examples: [
        { email: 'ada@example.com', role: '2f24211d-d928-469a-aea3-3c8f53d4e426' },
        { email: ['ada@example.com', 'grace@example.com'] },
      ],
    },
  ),
);

export const AcceptInviteBody = named(
  'AcceptInviteBody',
  Type.Object(
    {
      token: LinkToken('The token from the link in the email.'),
      password: Type.String({ minLength: 1, maxLength: 1024, description: 'The new password.' }),
    },
    {
      additionalProperties: false,
      examples: [{ token: exampleLinkToken, password: 'correct horse battery staple' }],
    },
  ),
);
