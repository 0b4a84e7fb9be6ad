import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, routeNotFound } from '../../schemas/errors.js';
import type { App } from '../app.js';
import { endSession } from './end-session.js';
import {
  authorizeByFormSchema,
  authorizeSchema,
  deviceSchema,
  introspectionSchema,
  keysSchema,
  metadataSchemas,
  pushSchema,
  revocationSchema,
  tokenSchema,
  userInfoByFormSchema,
  userInfoSchema,
} from './protocol-schemas.js';

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
    const received = {
      method,
      url,
      // Otherwise, the library would respond to a program with a page, if the program accepts pages.
      headers: hasSession ? headers : { ...headers, accept: 'application/json' },
      body: Buffer.isBuffer(body) ? body : noBody,
    };
    const response = await respond(received, { client, arrived, session });
    // The library is stricter about slashes, and would respond with a text.
    if (response.status === 404) throw routeNotFound(request);
    const { 'content-type': type, ...headersToSend } = response.headers;
    reply.header('cache-control', 'no-store').code(response.status).headers(headersToSend);
    if (response.needsErrorPage) return reply.sendPage(app.pages.error(response.status));
    // The library adds a page to redirects, which no browser shows.
    if (response.body.length === 0 || response.headers.location !== undefined) return reply.send();
    return reply.headers(type === undefined ? {} : { 'content-type': type }).send(response.body);
  };

/** The endpoints of OAuth 2.1 and OpenID Connect, under `/oauth`. The library decides which origins may call them (CORS). */
export async function protocolRoutes(app: App): Promise<void> {
  app.setProtocol({ isApi: false, bodies: ['raw'], formatError: app.openIdProvider.formatError, config: routeConfig });
  const { respond, userInfo, introspect, revoke } = app.openIdProvider.protocol;
  const forBrowsers = handlerOf(app, respond, { hasSession: true });
  const forPrograms = handlerOf(app, respond);

  app.get('/authorize', { schema: authorizeSchema }, forBrowsers);
  app.get('/authorize/:id', forBrowsers);
  // As a GET, which browsers send with the session cookie.
  app.post('/authorize', { schema: authorizeByFormSchema }, async (request, reply) => {
    const form = Buffer.isBuffer(request.body) ? request.body.toString() : '';
    if (form.length > maxQueryLength) throw new ApiError('INVALID_PAYLOAD', { reason: 'The request is too long' });
    return reply.redirect(`${app.basePath}/oauth/authorize?${new URLSearchParams(form)}`, 303);
  });
  app.post('/token', { schema: tokenSchema }, forPrograms);
  app.post('/par', { schema: pushSchema }, forPrograms);
  app.post('/device', { schema: deviceSchema }, forPrograms);
  app.post('/introspect', { schema: introspectionSchema }, handlerOf(app, introspect));
  app.post('/revoke', { schema: revocationSchema }, handlerOf(app, revoke));
  app.get('/userinfo', { schema: userInfoSchema }, handlerOf(app, userInfo));
  app.post('/userinfo', { schema: userInfoByFormSchema }, forPrograms);
  app.get('/jwks', { schema: keysSchema }, forPrograms);
  for (const url of ['/token', '/par', '/device', '/introspect', '/revoke', '/userinfo', '/jwks'])
    app.options(url, forPrograms);
  endSession(app);
}

/** What clients and APIs read first (OpenID Connect Discovery 1.0, RFC 8414): one of the documents in `/.well-known`. */
export const metadataRoutes = (name: keyof typeof metadataSchemas) => async (app: App) => {
  app.setProtocol({ isApi: false, formatError: app.openIdProvider.formatError, config: routeConfig });
  const { respond } = app.openIdProvider.protocol;
  const handler = handlerOf(app, (request, from) => respond({ ...request, url: `/.well-known/${name}` }, from));
  app.get('', { schema: metadataSchemas[name] }, handler);
  app.options('', handler);
  if (app.basePath === '') return;
  // At the root of the host, the name of the document comes before the path of PUBLIC_URL (RFC 8414, 3.1).
  const inserted = `/.well-known/${name}${app.basePath}`;
  const requireInserted = async (request: FastifyRequest) => {
    if (request.url.split('?', 1)[0] !== inserted) throw routeNotFound(request);
  };
  // With parameters, because the path can contain characters that have a meaning in the URL of a route.
  const pattern = app.basePath.replaceAll(/\/[^/]*/g, (_, offset) => `/:at${offset}`);
  app.get(pattern, { preHandler: requireInserted }, handler);
  app.options(pattern, { preHandler: requireInserted }, handler);
};

/** Bytes. What a URL can contain. */
const maxQueryLength = 8_000;
