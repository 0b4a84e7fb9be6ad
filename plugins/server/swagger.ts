import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import plugin from 'fastify-plugin';
import { completeDocument } from './openapi/document.js';

const tags = [
  { name: 'Authentication', description: 'Sessions: login, refresh, logout.' },
  { name: 'Sessions', description: 'Where users are signed in, and ending it.' },
  { name: 'Own account', description: 'What users do with their own account, whatever their permissions.' },
  { name: 'Providers', description: 'Login by OAuth2 and OpenID Connect.' },
  { name: 'Users', description: 'User accounts.' },
  { name: 'Two-factor authentication', description: 'A code from an app besides the password.' },
  { name: 'Invitations', description: 'Users who are invited by e-mail.' },
  { name: 'Registration', description: 'People who sign up by themselves.' },
  { name: 'Roles', description: 'Roles group policies.' },
  { name: 'Policies', description: 'Policies group permissions.' },
  { name: 'Permissions', description: 'Who may do what with which items.' },
  { name: 'Settings', description: 'Settings of the project.' },
  { name: 'Mails', description: 'The queue of mails.' },
  { name: 'Activity', description: 'The audit log.' },
  { name: 'Server', description: 'The service itself.' },
];

/**
 * The page loads resources only from the service, uses inline styles, and contains its icons as data URLs. The policy has no
 * `upgrade-insecure-requests`, because the page would then be blank if the service is used over plain HTTP.
 */
const contentSecurityPolicy = {
  'default-src': ["'self'"],
  'base-uri': ["'self'"],
  'connect-src': ["'self'"],
  'form-action': ["'self'"],
  'frame-ancestors': ["'none'"],
  'img-src': ["'self'", 'data:'],
  'object-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'", "'unsafe-inline'"],
};

/** The OpenAPI document, generated from the schemas of the routes, and a page to read it and try out the API. */
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
            'Payloads are JSON; successful payloads are wrapped in `data`. Errors are `{"errors": [{"message", "extensions": {"code"}}]}`; programs should look at `extensions.code`, and not at the message. Log in with `POST /auth/login`, and send the access token as `Authorization: Bearer …`. Every answer carries `x-request-id`.',
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
              description: 'The same, as a query parameter.',
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
      transformObject: (made) => ('openapiObject' in made ? completeDocument(made.openapiObject) : made.swaggerObject),
      refResolver: {
        buildLocalReference: (schema, _baseUri, _fragment, index) =>
          typeof schema.$id === 'string' ? schema.$id : `Schema${index}`,
      },
    });
    await app.register(swaggerUi, {
      routePrefix: '/docs',
      uiConfig: { layout: 'BaseLayout', deepLinking: true, persistAuthorization: false, validatorUrl: null },
      staticCSP: contentSecurityPolicy,
      theme: { title: 'Gatehouse API' },
    });
    app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());
    app.get('/openapi.yaml', { schema: { hide: true } }, async (_request, reply) =>
      reply.type('application/yaml; charset=utf-8').send(app.swagger({ yaml: true })),
    );
  },
  { name: 'swagger', dependencies: ['config', 'route-rules'] },
);
