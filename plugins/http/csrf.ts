import type { FastifyRequest } from 'fastify';
import { parseUrl } from '../../schemas/common.js';
import { ApiError } from '../../schemas/errors.js';
import type { SessionMode } from '../../schemas/sessions.js';
import { definePlugin } from '../platform/plugin.js';
import { addRouteHook } from './route-hooks.js';

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Protects an operation from pages of other origins, even if it is a simple GET.
     * @throws {ApiError} FORBIDDEN if the browser reports that such a page has caused the request
     */
    requireOwnSite(): void;
  }
  interface FastifyContextConfig {
    /**
     * The operation starts a session. If the body asks for a cookie, pages of other origins cannot call it: otherwise, they could log a
     * user's browser in to an account of their choice (login CSRF).
     */
    startsSession?: true;
    /**
     * Whether pages of other sites may send the browser here with a form, as some providers do after a login. The operation itself must
     * verify that the form belongs to this browser.
     */
    acceptsFormsOfOtherSites?(request: FastifyRequest): boolean;
  }
}

/** Content types that a form, or a script without a preflight, can send (Fetch Standard, CORS-safelisted request-header). */
const formTypes = new Set(['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain']);

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

const refuse = (reason: string) => new ApiError('FORBIDDEN', { reason });

/**
 * Prevents pages of other sites from using the cookies that a browser has for this service (cross-site request forgery).
 * Browsers send the origin of a request in `Origin` and `Sec-Fetch-Site`, and pages cannot change these headers. A client that
 * sends neither is not a browser. Other origins of the same site, such as a subdomain, are not trusted either. This check runs
 * before authentication, and therefore before the request has any effect.
 */
export const csrfPlugin = definePlugin('http/csrf', ({ config, ownCookies }, app) => {
  const publicOrigin = new URL(config.PUBLIC_URL).origin;
  const trusted = new Set(config.CORS_ENABLED ? config.CORS_ORIGIN : []);

  const isForeign = (request: FastifyRequest): boolean => {
    const { origin, 'sec-fetch-site': site } = request.headers;
    // A page of another origin, but one that the configuration allows.
    if (origin !== undefined && trusted.has(origin)) return false;
    if (origin !== undefined && origin !== publicOrigin && origin !== originAskedFor(request)) return true;
    // `none` means that the user opened the URL, from the address bar or a bookmark.
    return site !== undefined && site !== 'same-origin' && site !== 'none';
  };

  app.decorateRequest('requireOwnSite', function (this: FastifyRequest) {
    if (isForeign(this)) throw refuse('Pages of other origins cannot do this, unless CORS_ORIGIN lists their origin');
  });

  const requireOwnSiteForCookies = async (request: FastifyRequest) => {
    const { mode = 'json' } = request.body as { mode?: SessionMode };
    if (mode !== 'json') request.requireOwnSite();
  };
  app.addHook('onRoute', (route) => {
    if (route.config?.startsSession) addRouteHook(route, 'preHandler', requireOwnSiteForCookies);
  });

  app.addHook('onRequest', async (request) => {
    if (safeMethods.has(request.method)) return;
    const { acceptsFormsOfOtherSites: acceptsForms } = request.routeOptions.config ?? {};
    if (acceptsForms?.(request) && mediaTypeOf(request) === 'application/x-www-form-urlencoded') return;
    if (!Object.keys(request.cookies).some((name) => ownCookies.has(name))) return;
    request.requireOwnSite();
    if (formTypes.has(mediaTypeOf(request))) {
      throw refuse(
        'A request with a cookie of this service cannot have a content type that a form can send. Use application/json.',
      );
    }
  });
});

/** The origin of the URL that the client requested, as far as it is known behind proxies. */
function originAskedFor({ protocol, host }: FastifyRequest): string | undefined {
  return parseUrl(`${protocol}://${host}`)?.origin;
}

const mediaTypeOf = ({ headers }: FastifyRequest): string =>
  (headers['content-type'] ?? '').split(/[;,]/, 1)[0]?.trim().toLowerCase() ?? '';
