import type { FastifyReply, FastifyRequest } from 'fastify';
import { uuidPattern } from '../../schemas/common.js';
import { ApiError, routeNotFound } from '../../schemas/errors.js';
import { type App, wantsHtml } from '../app.js';

const pagePolicy =
  "default-src 'none'; style-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** An email contains untrusted markup, so it is rendered in a sandbox with only its own styles and images. */
const mailPolicy =
  "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src https: http: data:; frame-ancestors 'self'";

/** The mailbox page embeds the email in a frame. Browsers do not render a sandboxed document with a Cross-Origin-Opener-Policy. */
const inFrame = { xFrameOptions: { action: 'sameorigin' }, crossOriginOpenerPolicy: false } as const;

/** The mailbox for development: HTML pages and, for tests, the same content as JSON. Not part of the API. */
export async function mailboxRoutes(app: App): Promise<void> {
  app.setProtocol({ isApi: false, config: { access: 'anonymous' } });
  const { access } = app.mailbox;
  const { PUBLIC_URL: publicUrl } = app.config;
  const cookie = {
    httpOnly: true,
    sameSite: 'lax',
    secure: publicUrl.startsWith('https:'),
    path: `${app.basePath}/mailbox`,
  } as const;

  app.addHook('onRequest', async (request, reply) => {
    const { key } = request.query as { key?: unknown };
    if (access.isKey(key)) {
      reply.setCookie(access.cookieName, access.cookie, cookie);
      // Otherwise, the key would remain in the URL of the page and in the browser history.
      if (wantsHtml(request)) return reply.redirect(withoutKey(request.url));
      return;
    }
    if (key === undefined && access.hasCookie(request.headers.cookie)) return;
    // With a stolen token, an attacker could otherwise read links from the emails and take over the accounts permanently.
    if (key === undefined && request.principal?.admin) return app.stepUp.requireFreshAdministrator(request.principal);
    throw new ApiError('FORBIDDEN', {
      reason:
        'Open the mailbox with the key that the service prints when it starts, or log in as an administrator first',
    });
  });

  // Browsers get a page that says how to get access, instead of the error that programs get.
  app.setErrorHandler(async (error, request, reply) => {
    if (!(error instanceof ApiError && error.status === 403 && wantsHtml(request))) throw error;
    return reply.code(403).sendPage(app.pages.error(403));
  });

  app.get('/', async (request, reply) => {
    // The links on the page are relative, so that they work behind a proxy that adds a path prefix.
    if (/^[^?]*\/(\?|$)/.test(request.url)) return reply.redirect('../mailbox');
    const mails = await app.mailbox.list();
    if (!wantsHtml(request)) return { data: mails };
    return html(reply, pagePolicy, await app.mailbox.page(mails, undefined));
  });

  app.get('/style.css', async (_request, reply) => reply.type('text/css; charset=utf-8').send(app.mailbox.style));

  app.get<{ Params: { id: string } }>('/:id', async (request, reply) => {
    const mail = await found(app, request);
    if (!wantsHtml(request)) return { data: mail };
    return html(reply, pagePolicy, await app.mailbox.page(await app.mailbox.list(), mail));
  });

  app.get<{ Params: { id: string } }>('/:id/html', { config: { headers: inFrame } }, async (request, reply) => {
    const mail = await found(app, request);
    return html(reply, mailPolicy, mail.html.replace('<head>', '<head><base target="_blank">'));
  });
}

/** The URL without the key. Relative, so that it works behind a proxy that adds a path prefix. */
function withoutKey(url: string): string {
  const [path = '', query = ''] = url.split('?', 2);
  const rest = new URLSearchParams(query);
  rest.delete('key');
  const name = path.slice(path.lastIndexOf('/') + 1);
  return `${name === '' ? '../mailbox' : name}${rest.size > 0 ? `?${rest}` : ''}`;
}

async function found(app: App, request: FastifyRequest<{ Params: { id: string } }>) {
  const { params } = request;
  const mail = uuidPattern.test(params.id) ? await app.mailbox.find(params.id) : undefined;
  if (!mail) throw routeNotFound(request);
  return mail;
}

const html = (reply: FastifyReply, policy: string, page: string) =>
  reply.header('content-security-policy', policy).type('text/html; charset=utf-8').send(page);
