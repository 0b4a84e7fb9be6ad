import type { FastifyReply, FastifyRequest } from 'fastify';
import { uuidPattern } from '../../schemas/common.js';
import { ApiError } from '../../schemas/errors.js';
import type { App } from '../app.js';

const pagePolicy =
  "default-src 'none'; style-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** A mail is somebody else's markup: shown in a sandbox, with nothing but its own styles and pictures. */
const mailPolicy =
  "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src https: http: data:; frame-ancestors 'self'";

/** The page of the mailbox shows it in a frame; and browsers show nothing that is in a sandbox and wants a window of its own. */
const inFrame = { xFrameOptions: { action: 'sameorigin' }, crossOriginOpenerPolicy: false } as const;

const schema = { hide: true };

/** The mailbox for development: pages for people and, for tests, the same as JSON. Not part of the API. */
export async function mailboxRoutes(app: App): Promise<void> {
  app.addHook('onRequest', async (request) => {
    if (request.principal?.admin || isHere(request)) return;
    throw new ApiError('FORBIDDEN', {
      reason: 'The mailbox opens on the machine of the service itself; elsewhere, sign in as an administrator first',
    });
  });

  app.get('/', { schema }, async (request, reply) => {
    // The links on the page are relative, so that they work behind a proxy with a path of its own.
    if (/^[^?]*\/(\?|$)/.test(request.url)) return reply.redirect('../mailbox');
    const mails = await app.mailbox.list();
    if (wantsJson(request)) return { data: mails };
    return html(reply, pagePolicy, await app.mailbox.page(mails, undefined));
  });

  app.get('/style.css', { schema }, async (_request, reply) =>
    reply.type('text/css; charset=utf-8').send(app.mailbox.style),
  );

  app.get<{ Params: { id: string } }>('/:id', { schema }, async (request, reply) => {
    const mail = await found(app, request);
    if (wantsJson(request)) return { data: mail };
    return html(reply, pagePolicy, await app.mailbox.page(await app.mailbox.list(), mail));
  });

  app.get<{ Params: { id: string } }>('/:id/html', { schema, config: { headers: inFrame } }, async (request, reply) => {
    const mail = await found(app, request);
    return html(reply, mailPolicy, mail.html.replace('<head>', '<head><base target="_blank">'));
  });
}

const isHere = (request: FastifyRequest): boolean => {
  const { headers } = request;
  const isForwarded = Object.keys(headers).some((name) => /^(x-)?forwarded|^x-real-ip$|^via$/.test(name));
  return request.server.mailbox.isAtThisMachine({ ip: request.client.ip, host: headers.host, isForwarded });
};

const wantsJson = ({ headers }: FastifyRequest): boolean => !/\btext\/html\b/i.test(headers.accept ?? '');

async function found(app: App, { params, url }: FastifyRequest<{ Params: { id: string } }>) {
  const mail = uuidPattern.test(params.id) ? await app.mailbox.find(params.id) : undefined;
  if (!mail) throw new ApiError('ROUTE_NOT_FOUND', { path: url.split('?', 1)[0] ?? '' });
  return mail;
}

const html = (reply: FastifyReply, policy: string, page: string) =>
  reply.header('content-security-policy', policy).type('text/html; charset=utf-8').send(page);
