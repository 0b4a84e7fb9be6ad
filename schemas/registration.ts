import { Type } from '@sinclair/typebox';
import { Email, Nullable, named } from './common.js';
import { exampleLinkToken, LinkToken } from './link-tokens.js';

export const RegisterBody = named(
  'RegisterBody',
  Type.Object(
    {
      email: Email('The email address.'),
      password: Type.String({ minLength: 1, maxLength: 1024, description: "The user's password." }),
      first_name: Type.Optional(Nullable(Type.String({ maxLength: 50, description: 'The first name.' }))),
      last_name: Type.Optional(Nullable(Type.String({ maxLength: 50, description: 'The last name.' }))),
      verification_url: Type.Optional(
        Type.String({
          description:
            'The URL for the link in the email. The service adds the token as the query parameter `token`. The URL must be listed in `USER_REGISTER_URL_ALLOW_LIST`. The page at this URL should call `POST /users/register/verify-email`.',
        }),
      ),
    },
    { examples: [{ email: 'ada@example.com', password: 'correct horse battery staple' }] },
  ),
);

export const ResendVerificationBody = named(
  'ResendVerificationBody',
  Type.Object(
    { email: Email('The address that was registered.') },
    { additionalProperties: false, examples: [{ email: 'ada@example.com' }] },
  ),
);

export const VerifyEmailQuery = Type.Object({
  token: Type.Optional(Type.String({ description: 'The token from the link in the email.' })),
});

export const ConfirmEmailBody = named(
  'ConfirmEmailBody',
  Type.Object(
    {
      token: LinkToken('The token from the link in the email.'),
      password: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 1024,
          description:
            'The new password of the account. Required, except in the browser that was used to register. If it differs from the password given at registration, the names given at registration are discarded.',
        }),
      ),
    },
    {
      additionalProperties: false,
      examples: [{ token: exampleLinkToken, password: 'correct horse battery staple' }],
    },
  ),
);
