import { Type } from '@sinclair/typebox';
import { named } from './common.js';
import { exampleLinkToken, LinkToken } from './link-tokens.js';

/** Operation 5 (contract 2.6). */
export const RequestPasswordResetBody = named(
  'RequestPasswordResetBody',
  Type.Object(
    {
      email: Type.String({
        minLength: 1,
        maxLength: 1024,
        description: 'The e-mail address of the user, in any letter case.',
      }),
      reset_url: Type.Optional(
        Type.String({
          description:
            'Where the link in the mail leads; the token is added to it as `token`. Only URLs of PASSWORD_RESET_URL_ALLOW_LIST.',
        }),
      ),
    },
    { examples: [{ email: 'ada@example.com' }] },
  ),
);

/** Operation 6 (contract 2.7). */
export const ResetPasswordBody = named(
  'ResetPasswordBody',
  Type.Object(
    {
      token: LinkToken('The token from the link in the mail.'),
      password: Type.String({ minLength: 1, maxLength: 1024, description: 'The new password.' }),
    },
    { examples: [{ token: exampleLinkToken, password: 'correct horse battery staple' }] },
  ),
);
