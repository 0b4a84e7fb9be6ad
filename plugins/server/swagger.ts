import swagger from '@fastify/swagger';
import type { TSchema } from '@sinclair/typebox';
import plugin from 'fastify-plugin';
import { completeDocument } from './openapi/document.js';

const tags = [
  { name: 'Authentication', description: 'Log in, refresh tokens, and log out.' },
  { name: 'Sessions', description: 'List and end sessions.' },
  { name: 'Own account', description: 'Manage your own account, regardless of your permissions.' },
  { name: 'Providers', description: 'Login with OAuth 2.0 and OpenID Connect.' },
  { name: 'Users', description: 'Manage user accounts.' },
  { name: 'Two-factor authentication', description: 'Codes from an authenticator app as a second factor.' },
  { name: 'Invitations', description: 'Invite users by email.' },
  { name: 'Registration', description: 'Self-registration with email verification.' },
  { name: 'Roles', description: 'Manage roles, which group policies.' },
  { name: 'Policies', description: 'Manage policies, which group permissions.' },
  { name: 'Permissions', description: 'Manage permissions: which actions users can perform on which items.' },
  { name: 'Settings', description: 'Read and update the project settings.' },
  { name: 'Mails', description: 'The email queue.' },
  { name: 'Activity', description: 'The audit log.' },
  { name: 'Server', description: 'Health and public settings of the service.' },
];

declare module 'fastify' {
  interface FastifySchema {
    /** More detailed schemas to show in the OpenAPI document, where the service and not the schema validates the details. */
    documented?: { body?: TSchema; querystring?: TSchema };
  }
}

/** The OpenAPI document, generated from the schemas of the routes. */
export const swaggerPlugin = plugin<{ version: string }>(
  async (app, { version }) => {
    const { config } = app;
    await app.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: {
          title: 'Gatehouse',
          version,
          summary: 'Authentication and user management',
          description:
            'Request and response bodies are JSON. Successful responses are wrapped in `data`. Errors have the form `{"errors": [{"message", "extensions": {"code"}}]}`; programs should rely on `extensions.code`, not on the message. Log in with `POST /auth/login`, and send the access token as `Authorization: Bearer …`. Every response has the header `x-request-id`.',
          contact: { name: 'The maintainers of Gatehouse' },
          license: { name: 'MIT', identifier: 'MIT' },
        },
        servers: [{ url: '/', description: 'This service' }],
        tags,
        components: {
          securitySchemes: {
            bearer: { type: 'http', scheme: 'bearer', description: 'An access token or a static token.' },
            queryToken: {
              type: 'apiKey',
              in: 'query',
              name: 'access_token',
              description: 'An access token or a static token, as a query parameter.',
            },
            sessionCookie: {
              type: 'apiKey',
              in: 'cookie',
              name: config.SESSION_COOKIE_NAME,
              description: 'The cookie of a session in mode `session`.',
            },
            refreshCookie: {
              type: 'apiKey',
              in: 'cookie',
              name: config.REFRESH_TOKEN_COOKIE_NAME,
              description: 'The cookie of a session in mode `cookie`.',
            },
          },
        },
      },
      transform: ({ schema: { documented, ...schema }, url }) => ({ schema: { ...schema, ...documented }, url }),
      transformObject: (made) => ('openapiObject' in made ? completeDocument(made.openapiObject) : made.swaggerObject),
      refResolver: {
        buildLocalReference: (schema, _baseUri, _fragment, index) =>
          typeof schema.$id === 'string' ? schema.$id : `Schema${index}`,
      },
    });
    app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());
    app.get('/openapi.yaml', { schema: { hide: true } }, async (_request, reply) =>
      reply.type('application/yaml; charset=utf-8').send(app.swagger({ yaml: true })),
    );
  },
  { name: 'swagger', dependencies: ['config', 'route-rules'] },
);
