import { Type } from '@sinclair/typebox';
import { named } from './common.js';

/** The body of `POST /auth/reauthenticate`. */
export const ReauthenticateBody = named(
  'ReauthenticateBody',
  Type.Object(
    {
      password: Type.Optional(
        Type.String({
          minLength: 1,
          description: 'Your password. With two-factor authentication it is not sufficient without `otp`.',
        }),
      ),
      otp: Type.Optional(
        Type.String({
          minLength: 1,
          description: 'The one-time password, or a recovery code. Required with two-factor authentication.',
        }),
      ),
    },
    {
      additionalProperties: false,
      description: 'At least one of the two is required.',
      examples: [{ password: 'correct horse battery staple' }, { otp: '492039' }],
    },
  ),
);
