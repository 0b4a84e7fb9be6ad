import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../app.js';
import { endSessionByFormSchema, endSessionSchema } from './protocol-schemas.js';

const names = ['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state'] as const;
type Parameters = Partial<Record<(typeof names)[number], string>>;

/** Signs the user out at the request of a client (OpenID Connect RP-Initiated Logout 1.0). */
export function endSession(app: App): void {
  const respond = async (given: URLSearchParams, request: FastifyRequest, reply: FastifyReply) => {
    const parameters: Parameters = Object.fromEntries(
      names.flatMap((name) => {
        const values = given.getAll(name);
        return values.length === 1 ? [[name, values[0]]] : [];
      }),
    );
    const session = await request.browserSession();
    const { isCertain, clientId, to } = await app.openIdProvider.signOut.read(parameters, session);
    reply.header('cache-control', 'no-store');
    if (!isCertain) {
      const { post_logout_redirect_uri: uri, state } = parameters;
      const asked = new URLSearchParams({
        ...(clientId === null ? {} : { client_id: clientId }),
        ...(uri === undefined ? {} : { post_logout_redirect_uri: uri }),
        ...(state === undefined ? {} : { state }),
      });
      return reply.redirect(`${app.basePath}/account/sign-out${asked.size > 0 ? `?${asked}` : ''}`, 303);
    }
    for (const mode of ['session', 'cookie'] as const) {
      const credential = reply.tokensInCookie(mode);
      if (credential) await app.sessions.logout(credential, request.client);
    }
    reply.clearReceivedCookies();
    return reply.redirect(to ?? `${app.basePath}/account/login?notice=signed-out`, 303);
  };

  app.get('/end-session', { schema: endSessionSchema }, (request, reply) =>
    respond(new URL(request.url, 'http://here').searchParams, request, reply),
  );
  app.post('/end-session', { schema: endSessionByFormSchema }, (request, reply) =>
    respond(new URLSearchParams(Buffer.isBuffer(request.body) ? request.body.toString() : ''), request, reply),
  );
}
