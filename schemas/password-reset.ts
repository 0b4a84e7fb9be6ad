import { Type } from '@sinclair/typebox';
import { named } from './common.js';
import { exampleLinkToken, LinkToken } from './link-tokens.js';

export const RequestPasswordResetBody = named(
  'RequestPasswordResetBody',
  Type.Object(
    {
      email: Type.String({
        minLength: 1,
        maxLength: 1024,
        description: "The user's email address (case-insensitive).",
      }),
      reset_url: Type.Optional(
        Type.String({
          description:
            'The URL for the link in the email. The service adds the token as the query parameter `token`. The URL must be listed in `PASSWORD_RESET_URL_ALLOW_LIST`.',
        }),
      ),
    },
    { examples: [{ email: 'ada@example.com' }] },
  ),
);

export const ResetPasswordBody = named(
  'ResetPasswordBody',
  Type.Object(
    {
      token: LinkToken('The token from the link in the email.'),
      password: Type.String({ minLength: 1, maxLength: 1024, description: 'The new password.' }),
    },
    { examples: [{ token: exampleLinkToken, password: 'correct horse battery staple' }] },
  ),
);
