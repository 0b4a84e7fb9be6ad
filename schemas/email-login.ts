import { Type } from '@sinclair/typebox';
import { AccountEmail, named } from './common.js';
import { otp, SessionMode } from './sessions.js';

const Binding = (description: string) => Type.Optional(Type.String({ minLength: 32, maxLength: 1024, description }));

const exampleBinding = 'pVn0mTgRz7YkQ2cXwLhB4sUjE9aDf1oK';

export const RequestEmailLoginBody = named(
  'RequestEmailLoginBody',
  Type.Object(
    {
      email: Type.Optional(
        AccountEmail("The user's email address (case-insensitive). Omit it to request a code for your own session."),
      ),
      redirect: Type.Optional(
        Type.String({
          maxLength: 1024,
          description:
            'The path to which the browser is redirected after a login with the link. It must be the path of an account page, without a query. The email does not contain it.',
        }),
      ),
      return_to: Type.Optional(
        Type.String({
          maxLength: 1024,
          description:
            'The URL of an app to which the browser is redirected after a login with the link, instead of `redirect`. Ignored unless its origin is in `ACCOUNT_RETURN_ORIGINS` and it has at most 255 characters. The email does not contain it.',
        }),
      ),
      binding: Binding(
        'For apps without cookies: at least 32 random characters. Send the same value with the code; otherwise, the code does not work.',
      ),
    },
    {
      additionalProperties: false,
      examples: [{ email: 'ada@example.com' }, { email: 'ada@example.com', binding: exampleBinding }, {}],
    },
  ),
);

export const LoginWithEmailBody = named(
  'LoginWithEmailBody',
  Type.Object(
    {
      email: Type.Optional(AccountEmail("The user's email address (case-insensitive). Required with `code`.")),
      code: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 64,
          description:
            'The code from the email. It works only in the browser that requested it, or together with the `binding` that was sent in that request.',
        }),
      ),
      binding: Binding('The `binding` that you sent to `POST /auth/email/request`, for apps without cookies.'),
      token: Type.Optional(
        Type.String({
          minLength: 1,
          description:
            'The token from the link in the email. It works in any browser. Send it without `email` and `code`.',
        }),
      ),
      mode: Type.Optional(SessionMode),
      otp,
    },
    {
      additionalProperties: false,
      description: 'Either `email` and `code`, or `token`.',
      examples: [
        { email: 'ada@example.com', code: '492039' },
        { email: 'ada@example.com', code: '492039', binding: exampleBinding },
        { token: 'oZ3d8Xq1mV7sKc5tYwLhB4uRjE9aDf2oPnG6iTe0MxA', mode: 'session' },
      ],
    },
  ),
);
