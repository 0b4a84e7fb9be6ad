import { Type } from '@sinclair/typebox';
import { Closed, Data, named } from './common.js';

const password = Type.String({
  minLength: 1,
  description: 'The password of the caller; needed of users of the provider `default`.',
});
const text = (description: string) => Type.String({ minLength: 1, description });

/** Operation 22 (contract 2.13). */
export const GenerateTfaSecretBody = named(
  'GenerateTfaSecretBody',
  Type.Object({ password: Type.Optional(password) }, { examples: [{ password: 'correct horse battery staple' }] }),
);

export const TfaSecret = named(
  'TfaSecret',
  Closed(
    {
      secret: Type.String({ pattern: '^[A-Z2-7]{32}$', description: 'The secret, in base32: 160 bits.' }),
      otpauth_url: Type.String({ description: 'The same, as authenticator apps read it from a QR code.' }),
    },
    {
      description: 'What an authenticator app is set up with. It is not wrapped in `data`.',
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

/** Operation 21 (contract 2.13). */
export const EnableTfaBody = named(
  'EnableTfaBody',
  Type.Object(
    {
      secret: text('The secret that the app was set up with, in base32: of at least 128 bits.'),
      otp: text('The code that the app shows now; that of the step before counts too.'),
    },
    { examples: [{ secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP', otp: '492039' }] },
  ),
);

/** Operation 20 (contract 2.13). */
export const DisableTfaBody = named(
  'DisableTfaBody',
  Type.Object(
    { otp: text('The code that the app shows now, or a recovery code.') },
    { examples: [{ otp: '492039' }, { otp: 'k3zt-0m9c-v7pa-2h6x' }] },
  ),
);

export const CreateRecoveryCodesBody = named(
  'CreateRecoveryCodesBody',
  Type.Object(
    {
      password: Type.Optional({
        ...password,
        description: 'The password of the caller, if they are a user of the provider `default`.',
      }),
      otp: Type.Optional(text('The code that the app shows now; it is used up. No recovery code.')),
    },
    { examples: [{ password: 'correct horse battery staple' }, { otp: '492039' }] },
  ),
);

const exampleCodes = Array.from({ length: 10 }, (_, index) => `k3zt-0m9c-v7pa-2h${index}x`);

export const RecoveryCodesResponse = named(
  'RecoveryCodesResponse',
  Data(
    Type.Array(Type.String({ pattern: '^([0-9a-hjkmnp-tv-z]{4}-){3}[0-9a-hjkmnp-tv-z]{4}$' }), {
      minItems: 10,
      maxItems: 10,
      description: 'Each stands in for `otp` once, in any letter case, with or without the dashes.',
    }),
    exampleCodes,
  ),
);
