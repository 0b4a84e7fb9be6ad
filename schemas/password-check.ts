import { type Static, Type } from '@sinclair/typebox';
import { Closed, Data, Email, Nullable, named } from './common.js';

/** Why a password is refused. */
export const PasswordReason = Type.Union([
  Type.Literal('too_short', { description: 'Fewer than PASSWORD_MIN_LENGTH characters.' }),
  Type.Literal('too_common', { description: 'Easy to guess.' }),
  Type.Literal('own_words', { description: 'Easy to guess for anyone who knows the address, names or project.' }),
  Type.Literal('policy', { description: 'Does not match the setting `auth_password_policy`.' }),
  Type.Literal('breached', { description: 'Known from a data breach.' }),
]);
export type PasswordReason = Static<typeof PasswordReason>;

const name = (description: string) => Type.Optional(Nullable(Type.String({ maxLength: 50, description })));

export const CheckPasswordBody = named(
  'CheckPasswordBody',
  Type.Object(
    {
      password: Type.String({ maxLength: 1024, description: 'The password to check.' }),
      email: Type.Optional(Nullable(Email("The user's email address."))),
      first_name: name("The user's first name."),
      last_name: name("The user's last name."),
    },
    {
      additionalProperties: false,
      examples: [{ password: 'correct horse battery staple', email: 'ada@example.com' }],
    },
  ),
);

export const CheckPasswordResponse = named(
  'CheckPasswordResponse',
  Data(
    Closed({
      acceptable: Type.Boolean({ description: 'Whether the password would be accepted.' }),
      reasons: Type.Array(PasswordReason, {
        description: 'Why the password would be rejected. Empty if it would be accepted.',
      }),
    }),
    { acceptable: false, reasons: ['too_common'] },
  ),
);
