import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../schemas/errors.js';
import type { App } from '../app.js';
import { endSession } from './end-session.js';

const noBody = Buffer.alloc(0);

const routeConfig = { access: 'open', acceptsFormsOfOtherSites: () => true, cors: { origin: false } } as const;

type Respond = App['openIdProvider']['protocol']['respond'];

/** Sends requests to the library, which parses them itself, so that they behave as the standards require. */
const handlerOf =
  (app: App, respond: Respond, { hasSession = false } = {}) =>
  async (request: FastifyRequest, reply: FastifyReply) => {
    const { method, url, headers, body, client } = request;
    const session = hasSession ? await request.browserSession() : null;
    const arrived = performance.now() - reply.elapsedTime;
    const received = { method, url, headers, body: Buffer.isBuffer(body) ? body : noBody };
    const response = await respond(received, { client, arrived, session });
    reply.header('cache-control', 'no-store').code(response.status).headers(response.headers);
    if (response.needsErrorPage) return reply.sendPage(app.pages.error(response.status));
    return reply.send(response.body);
  };

/** The endpoints of OAuth 2.1 and OpenID Connect, under `/oauth`. The library decides which origins may call them (CORS). */
export async function protocolRoutes(app: App): Promise<void> {
  app.setProtocol({ isApi: false, bodies: ['raw'], formatError: app.openIdProvider.formatError, config: routeConfig });
  const { respond, respondAboutToken } = app.openIdProvider.protocol;
  const forBrowsers = handlerOf(app, respond, { hasSession: true });
  const forPrograms = handlerOf(app, respond);

  app.get('/authorize', forBrowsers);
  app.get('/authorize/:id', forBrowsers);
  // As a GET, which browsers send with the session cookie.
  app.post('/authorize', async (request, reply) => {
    const form = Buffer.isBuffer(request.body) ? request.body.toString() : '';
    if (form.length > maxQueryLength) throw new ApiError('INVALID_PAYLOAD', { reason: 'The request is too long' });
    return reply.redirect(`${app.basePath}/oauth/authorize?${new URLSearchParams(form)}`, 303);
  });
  for (const url of ['/token', '/par', '/device'])
    app.route({ method: ['POST', 'OPTIONS'], url, handler: forPrograms });
  for (const url of ['/introspect', '/revoke'])
    app.route({ method: ['POST', 'OPTIONS'], url, handler: handlerOf(app, respondAboutToken) });
  app.route({ method: ['GET', 'POST', 'OPTIONS'], url: '/userinfo', handler: forPrograms });
  app.route({ method: ['GET', 'OPTIONS'], url: '/jwks', handler: forPrograms });
  endSession(app);
}

/** What clients and APIs read first (OpenID Connect Discovery 1.0, RFC 8414), under `/.well-known`. */
export async function metadataRoutes(app: App): Promise<void> {
  app.setProtocol({ isApi: false, config: routeConfig });
  const handler = handlerOf(app, app.openIdProvider.protocol.respond);
  for (const url of ['/openid-configuration', '/oauth-authorization-server'])
    app.route({ method: ['GET', 'OPTIONS'], url, handler });
}

/** Bytes. What a URL can contain. */
const maxQueryLength = 8_000;
