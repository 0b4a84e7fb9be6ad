import { Type } from '@sinclair/typebox';
import { Closed, Data, named } from './common.js';

const password = Type.String({
  minLength: 1,
  description: 'Your password. Required if you log in with a password.',
});
const text = (description: string) => Type.String({ minLength: 1, description });

export const GenerateTfaSecretBody = named(
  'GenerateTfaSecretBody',
  Type.Object({ password: Type.Optional(password) }, { examples: [{ password: 'correct horse battery staple' }] }),
);

export const TfaSecret = named(
  'TfaSecret',
  Closed(
    {
      secret: Type.String({ pattern: '^[A-Z2-7]{32}$', description: 'The 160-bit secret, in base32.' }),
      otpauth_url: Type.String({ description: 'The secret as a URL, to display as a QR code.' }),
    },
    {
      description: 'The secret for an authenticator app. The response is not wrapped in `data`.',
      examples: [
        {
          secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
          otpauth_url:
            'otpauth://totp/Gatehouse:ada%40example.com?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Gatehouse',
        },
      ],
    },
  ),
);

export const EnableTfaBody = named(
  'EnableTfaBody',
  Type.Object(
    {
      secret: text('The secret that the authenticator app was set up with, in base32. At least 128 bits.'),
      otp: text('The current code from the authenticator app, or the previous one.'),
    },
    { examples: [{ secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP', otp: '492039' }] },
  ),
);

export const DisableTfaBody = named(
  'DisableTfaBody',
  Type.Object(
    { otp: text('The current code from the authenticator app, or a recovery code.') },
    { examples: [{ otp: '492039' }, { otp: 'k3zt-0m9c-v7pa-2h6x' }] },
  ),
);

export const CreateRecoveryCodesBody = named(
  'CreateRecoveryCodesBody',
  Type.Object(
    {
      password: Type.Optional({
        ...password,
        description: 'Your password, if you log in with one.',
      }),
      otp: Type.Optional(
        text(
          'The current code from the authenticator app. Each code works only once. Recovery codes are not accepted.',
        ),
      ),
    },
    {
      additionalProperties: false,
      examples: [{ password: 'correct horse battery staple' }, { otp: '492039' }],
    },
  ),
);

const exampleCodes = Array.from({ length: 10 }, (_, index) => `k3zt-0m9c-v7pa-2h${index}x`);

export const RecoveryCodesResponse = named(
  'RecoveryCodesResponse',
  Data(
    Type.Array(Type.String({ pattern: '^([0-9a-hjkmnp-tv-z]{4}-){3}[0-9a-hjkmnp-tv-z]{4}$' }), {
      minItems: 10,
      maxItems: 10,
      description:
        'The recovery codes. You can use each code once instead of a one-time password. Codes are not case-sensitive, and the dashes are optional.',
    }),
    exampleCodes,
  ),
);
