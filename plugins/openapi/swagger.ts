import swagger from '@fastify/swagger';
import type { TSchema } from '@sinclair/typebox';
import type { FastifyContextConfig } from 'fastify';
import { protocolTag } from '../../schemas/oauth.js';
import { acceptedByDefault, credentialNames, refusedAmong } from '../http/credential.js';
import { definePlugin } from '../platform/plugin.js';
import { completeDocument } from './document.js';

const tags = [
  { name: 'Authentication', description: 'Log in, refresh tokens, and log out.' },
  { name: 'Sessions', description: 'List and end sessions.' },
  { name: 'Own account', description: 'Manage your own account, regardless of your permissions.' },
  { name: 'Grants', description: 'List and withdraw the access of applications to accounts.' },
  { name: 'Providers', description: 'Log in with OAuth 2.0 and OpenID Connect providers.' },
  { name: 'Users', description: 'Manage user accounts.' },
  { name: 'Passkeys', description: 'Log in with a passkey, and manage passkeys.' },
  { name: 'Two-factor authentication', description: 'Set up two-factor authentication with an authenticator app.' },
  { name: 'Invitations', description: 'Invite users by email.' },
  { name: 'Registration', description: 'Register users and verify their email addresses.' },
  { name: 'Roles', description: 'Manage roles, which bundle policies.' },
  { name: 'Policies', description: 'Manage policies, which bundle permissions.' },
  { name: 'Permissions', description: 'Manage permissions, which define the actions that users can perform on items.' },
  { name: 'Settings', description: 'Read and update the project settings.' },
  {
    name: protocolTag,
    description: 'Sign users in to applications, and issue access tokens for APIs (OpenID Connect, OAuth 2.0).',
  },
  { name: 'Clients', description: 'Manage the applications that sign users in with Gatehouse.' },
  { name: 'Resources', description: "Manage the APIs that accept Gatehouse's access tokens." },
  { name: 'Emails', description: 'List queued emails and retry failed ones.' },
  { name: 'Activity', description: 'Read the audit log and statistics.' },
  { name: 'Server', description: 'Check the health of the service and read its public settings.' },
];

declare module 'fastify' {
  interface FastifySchema {
    /**
     * More detailed schemas to show in the OpenAPI document, for routes whose details are validated by the service, or by a library, and
     * not by the schema.
     */
    documented?: { body?: TSchema; querystring?: TSchema; headers?: TSchema; response?: Record<number, unknown> };
  }
}

/** What a route requires of its callers, for its description. */
function requirementsOf(config: FastifyContextConfig = {}): string[] {
  const { access, needs, scope, requiresFresh, refusesManagedUsers, isSelfService } = config;
  const forbidden = [
    ...refusedAmong(acceptedByDefault, { ...config, requiresFresh: false }).map(
      (kind) => `if you use ${credentialNames[kind]}`,
    ),
    ...(isSelfService ? ['if the setting `self_service` is turned off and you are not an administrator'] : []),
    ...(refusesManagedUsers ? ['if a provider determines your role (`ROLE_MAPPING`)'] : []),
  ];
  return [
    ...(access === 'permission' && typeof needs === 'object'
      ? ['Anonymous callers can use it only if the public policy grants the permission.']
      : []),
    ...(requiresFresh ? ['Requires a fresh session.'] : []),
    ...(scope === undefined ? [] : [`Applications need the scope \`${scope}\`.`]),
    ...(forbidden.length > 0 ? [`Fails with \`FORBIDDEN\` ${forbidden.join(', or ')}.`] : []),
  ];
}

/** The OpenAPI document, generated from the schemas of the routes. */
export const swaggerPlugin = definePlugin<{ version: string }>(
  'openapi/swagger',
  async ({ config, basePath }, app, { version }) => {
    await app.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: {
          title: 'Gatehouse',
          version,
          summary: 'Authentication and user management',
          description:
            'Request and response bodies are JSON. Unless noted otherwise, the result of a successful request is in `data`. Errors have the form `{"errors": [{"message", "extensions": {"code"}}]}`. In your code, check `extensions.code`, not the message. To authenticate, log in with `POST /auth/login`, then send the access token in the header `Authorization: Bearer …`. Some operations require a *fresh* session: one in which you logged in or called `POST /auth/reauthenticate` within the last `REAUTHENTICATION_PERIOD` (15 minutes by default). Every response includes the header `x-request-id`.',
          contact: { name: 'The maintainers of Gatehouse' },
          license: { name: 'MIT', identifier: 'MIT' },
        },
        servers: [{ url: basePath || '/', description: 'This service' }],
        tags,
        components: {
          securitySchemes: {
            bearer: {
              type: 'http',
              scheme: 'bearer',
              description: 'An access token, the access token of an application, or a static token.',
            },
            queryToken: {
              type: 'apiKey',
              in: 'query',
              name: 'access_token',
              description: 'An access token or a static token, sent as a query parameter.',
            },
            sessionCookie: {
              type: 'apiKey',
              in: 'cookie',
              name: config.SESSION_COOKIE_NAME,
              description: 'The session cookie, which is set in `session` mode.',
            },
            refreshCookie: {
              type: 'apiKey',
              in: 'cookie',
              name: config.REFRESH_TOKEN_COOKIE_NAME,
              description: 'The refresh cookie, which is set in `cookie` mode.',
            },
            clientSecret: {
              type: 'http',
              scheme: 'basic',
              description: 'The ID and the secret of a confidential client (`client_secret_basic`).',
            },
            clientToken: {
              type: 'http',
              scheme: 'bearer',
              description: 'An access token that a client has received from `/oauth/token`.',
            },
          },
        },
      },
      transform: ({ schema: { documented, ...schema }, url, route }) => {
        const description = [schema.description, ...requirementsOf(route.config)].join(' ');
        return { schema: { ...schema, ...documented, description }, url };
      },
      transformObject: (made) => ('openapiObject' in made ? completeDocument(made.openapiObject) : made.swaggerObject),
      refResolver: {
        buildLocalReference: (schema, _baseUri, _fragment, index) =>
          typeof schema.$id === 'string' ? schema.$id : `Schema${index}`,
      },
    });
  },
);
