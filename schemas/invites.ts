import { Type } from '@sinclair/typebox';
import { Email, named, Uuid } from './common.js';
import { exampleLinkToken, LinkToken } from './link-tokens.js';

/** Operation 16 (contract 2.12). */
export const InviteBody = named(
  'InviteBody',
  Type.Object(
    {
      email: Type.Union([
        Email('The address to invite.'),
        Type.Array(Email('An address.'), { description: 'The addresses to invite.' }),
      ]),
      role: Uuid('Identifier of the role that the user gets.'),
      invite_url: Type.Optional(
        Type.String({
          description:
            'Where the link in the mail leads; the token is added to it as `token`. Only URLs of USER_INVITE_URL_ALLOW_LIST.',
        }),
      ),
    },
    {
      additionalProperties: false,
      examples: [{ email: 'ada@example.com', role: '2f24211d-d928-469a-aea3-3c8f53d4e426' }],
    },
  ),
);

/** Operation 17 (contract 2.12). */
export const AcceptInviteBody = named(
  'AcceptInviteBody',
  Type.Object(
    {
      token: LinkToken('The token from the link in the mail.'),
      password: Type.String({ minLength: 1, maxLength: 1024, description: 'The password to log in with from now on.' }),
    },
    {
      additionalProperties: false,
      examples: [{ token: exampleLinkToken, password: 'correct horse battery staple' }],
    },
  ),
);
