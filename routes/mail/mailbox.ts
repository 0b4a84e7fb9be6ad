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
  const { access } = app.mailbox;
  const { pathname, protocol } = new URL(app.config.PUBLIC_URL);
  const cookie = {
    httpOnly: true,
    sameSite: 'lax',
    secure: protocol === 'https:',
    path: `${pathname.replace(/\/$/, '')}/mailbox`,
  } as const;

  app.addHook('onRequest', async (request, reply) => {
    const { key } = request.query as { key?: unknown };
    if (access.isKey(key)) {
      reply.setCookie(access.cookieName, access.cookie, cookie);
      // Otherwise the key would be in the address of the page, and in the history of the browser.
      if (!wantsJson(request)) return reply.redirect(withoutKey(request.url));
      return;
    }
    if (key === undefined && (request.principal?.admin || access.hasCookie(request.headers.cookie))) return;
    throw new ApiError('FORBIDDEN', {
      reason:
        'Open the mailbox with the key that the service prints when it starts, or sign in as an administrator first',
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

/** Relative, so that it works behind a proxy with a path of its own. */
function withoutKey(url: string): string {
  const [path = '', query = ''] = url.split('?', 2);
  const rest = new URLSearchParams(query);
  rest.delete('key');
  const name = path.slice(path.lastIndexOf('/') + 1);
  return `${name === '' ? '../mailbox' : name}${rest.size > 0 ? `?${rest}` : ''}`;
}

const wantsJson = ({ headers }: FastifyRequest): boolean => !/\btext\/html\b/i.test(headers.accept ?? '');

async function found(app: App, { params, url }: FastifyRequest<{ Params: { id: string } }>) {
  const mail = uuidPattern.test(params.id) ? await app.mailbox.find(params.id) : undefined;
  if (!mail) throw new ApiError('ROUTE_NOT_FOUND', { path: url.split('?', 1)[0] ?? '' });
  return mail;
}

const html = (reply: FastifyReply, policy: string, page: string) =>
  reply.header('content-security-policy', policy).type('text/html; charset=utf-8').send(page);
