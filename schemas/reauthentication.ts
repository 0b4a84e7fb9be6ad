import { Type } from '@sinclair/typebox';
import { named } from './common.js';
import { exampleAssertion, PasskeyCredential } from './passkeys.js';

/** The body of `POST /auth/reauthenticate`. */
export const ReauthenticateBody = named(
  'ReauthenticateBody',
  Type.Object(
    {
      password: Type.Optional(
        Type.String({
          minLength: 1,
          description:
            'Your password. If you use two-factor authentication, you must also send `otp`, or a passkey `credential` with user verification, such as a fingerprint or a PIN.',
        }),
      ),
      otp: Type.Optional(
        Type.String({
          minLength: 1,
          description:
            'The one-time password, or a recovery code. Required if you use two-factor authentication, unless you send a passkey `credential` with user verification.',
        }),
      ),
      code: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 64,
          description:
            'The code from the email that you requested in this session with `POST /auth/email/request` and an empty body. Accepted only if `methods` in the error `REAUTHENTICATION_REQUIRED` contains `email`.',
        }),
      ),
      credential: Type.Optional(PasskeyCredential),
    },
    {
      additionalProperties: false,
      description: 'At least one of `password`, `otp`, `code`, and `credential` is required.',
      examples: [
        { password: 'correct horse battery staple' },
        { otp: '492039' },
        { code: '492039' },
        { credential: exampleAssertion },
      ],
    },
  ),
);
