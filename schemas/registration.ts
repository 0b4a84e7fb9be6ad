import { Type } from '@sinclair/typebox';
import { Email, Nullable, named } from './common.js';
import { exampleLinkToken, LinkToken } from './link-tokens.js';

export const RegisterBody = named(
  'RegisterBody',
  Type.Object(
    {
      email: Email('Email address.'),
      password: Type.String({ minLength: 1, maxLength: 1024, description: 'The password to log in with.' }),
      first_name: Type.Optional(Nullable(Type.String({ maxLength: 50, description: 'First name.' }))),
      last_name: Type.Optional(Nullable(Type.String({ maxLength: 50, description: 'Last name.' }))),
      verification_url: Type.Optional(
        Type.String({
          description:
            'Where the link in the email leads; the token is added to it as `token`. Only URLs of USER_REGISTER_URL_ALLOW_LIST. The page there should call `POST /users/register/verify-email`.',
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
            'The password of the account from now on. Required, except in the browser that registered. If it is not the password of the registration, the names that were given there are dropped.',
        }),
      ),
    },
    {
      additionalProperties: false,
      examples: [{ token: exampleLinkToken, password: 'correct horse battery staple' }],
    },
  ),
);
