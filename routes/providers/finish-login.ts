import { Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { errorResponses, routeNotFound } from '../../schemas/errors.js';
import {
  CallbackForm,
  CallbackQuery,
  ProviderParams,
  ProviderTokens,
  redirectHeaders,
} from '../../schemas/providers.js';
import { browserSession } from '../../schemas/security.js';
import { cookieHeaders } from '../../schemas/sessions.js';
import { type App, noContent } from '../app.js';
import { inPopup } from './popup.js';
import { providerTimeoutMs } from './timeout.js';

/** The callback from a provider. */
export const finishOAuthLogin = (app: App): void =>
  finishLogin(app, '/oauth', 'finishOAuthLogin', 'Handle the OAuth callback');

/** The same, at the callback URL that is registered with providers. */
export const finishProviderLogin = (app: App): void =>
  finishLogin(app, '/login', 'finishProviderLogin', 'Handle the provider callback');

/** The callback from a provider that submits a form. */
export const submitOAuthLogin = (app: App): void =>
  submitLogin(app, '/oauth', 'submitOAuthLogin', 'Handle the OAuth form');

/** The same, at the callback URL that is registered with providers. */
export const submitProviderLogin = (app: App): void =>
  submitLogin(app, '/login', 'submitProviderLogin', 'Handle the provider form');

const config = {
  access: 'anonymous',
  beforeTfa: true,
  recordedAs: ['login', 'users'],
  timeoutMs: providerTimeoutMs,
  headers: inPopup,
} as const;

const codes = ['ROUTE_NOT_FOUND', 'INVALID_OTP', 'INVALID_PROVIDER', 'INVALID_PROVIDER_CONFIG'] as const;

/** The schema that all callbacks share. The response depends on the operation that started the login. */
const schema = {
  tags: ['Providers'],
  security: browserSession,
  params: ProviderParams,
  response: {
    200: {
      ...ProviderTokens,
      description: 'The login was started without `redirect`, and it succeeded.',
      headers: cookieHeaders,
    },
    302: {
      ...noContent(
        'Redirects to `redirect`. If the login failed, the query parameter `reason` contains the error code.',
      ),
      headers: redirectHeaders,
    },
    ...errorResponses(...codes),
  },
};

const respond = async (app: App, request: FastifyRequest, reply: FastifyReply) => {
  const end = await app.providerFlow.finish(request, reply);
  if ('to' in end) return reply.redirect(end.to);
  return { public: true as const, data: end.tokens };
};

function finishLogin(app: App, family: string, operationId: string, summary: string): void {
  app.get(
    `${family}/:provider/callback`,
    {
      config,
      schema: {
        ...schema,
        operationId,
        summary,
        description:
          'The provider redirects the browser to this URL after the login. There are two callback URLs; register `/auth/login/{provider}/callback` with the provider. The response depends on the operation that started the login, not on the callback URL. For a user with two-factor authentication, the login fails with `INVALID_OTP`; complete it with `POST /auth/login/{provider}`.',
        // Any value is accepted, because an invalid response ends the login like a failed one, with a redirect.
        querystring: Type.Object({}),
        documented: { querystring: CallbackQuery },
      },
    },
    async (request, reply) => respond(app, request, reply),
  );
}

function submitLogin(app: App, family: string, operationId: string, summary: string): void {
  app.post(
    `${family}/:provider/callback`,
    {
      // Runs before the body is read, so that any other provider returns ROUTE_NOT_FOUND whatever the body contains.
      onRequest: async (request) => {
        if (!app.providerFlow.returnsForms(request)) throw routeNotFound(request);
      },
      config: { ...config, acceptsUnknownKeys: true },
      schema: {
        ...schema,
        operationId,
        summary,
        description:
          'A page of the provider submits a form to this URL after the login, if `RESPONSE_MODE` of the provider is `form_post`. The response is the same as for a callback with `GET`.',
        consumes: ['application/x-www-form-urlencoded'],
        // FORBIDDEN is for a body that is not a form, which another site could send with the cookies of the browser.
        response: { ...schema.response, ...errorResponses(...codes, 'FORBIDDEN') },
        documented: { body: CallbackForm },
      },
    },
    async (request, reply) => respond(app, request, reply),
  );
}
