import { Type } from '@sinclair/typebox';
import { Email, Nullable, named } from './common.js';

/** Operation 24 (contract 2.15). */
export const RegisterBody = named(
  'RegisterBody',
  Type.Object(
    {
      email: Email('E-mail address.'),
      password: Type.String({ minLength: 1, maxLength: 1024, description: 'The password to log in with.' }),
      first_name: Type.Optional(Nullable(Type.String({ maxLength: 50, description: 'First name.' }))),
      last_name: Type.Optional(Nullable(Type.String({ maxLength: 50, description: 'Last name.' }))),
      verification_url: Type.Optional(
        Type.String({
          description:
            'Where the link in the mail leads; the token is added to it as `token`. Only URLs of USER_REGISTER_URL_ALLOW_LIST.',
        }),
      ),
    },
    { examples: [{ email: 'ada@example.com', password: 'correct horse battery staple' }] },
  ),
);

/** Operation 25 (contract 2.15). */
export const VerifyEmailQuery = Type.Object({
  token: Type.Optional(Type.String({ description: 'The token from the link in the mail.' })),
});
