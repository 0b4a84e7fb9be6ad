import type { FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { ApiError } from '../../schemas/errors.js';

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * For what a page elsewhere must not have a browser do, be it by a plain GET.
     * @throws {ApiError} FORBIDDEN when the browser says that such a page is behind the request
     */
    requireOwnSite(): void;
  }
}

/** What forms can send, and any page without asking first (Fetch Standard, CORS-safelisted request-header). */
const formTypes = new Set(['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain']);

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

const refuse = (reason: string) => new ApiError('FORBIDDEN', { reason });

/**
 * Keeps pages of other sites from acting with the cookies that a browser holds for this one (cross-site request forgery).
 * Browsers say by themselves where a request comes from, in `Origin` and `Sec-Fetch-Site`, and no page can make them say
 * otherwise; a client that says neither is no browser. Other origins of the same site, such as a subdomain, are strangers
 * too. It comes before the credential is looked at, and so before anything else happens.
 */
export const crossSitePlugin = plugin(
  async (app) => {
    const { config, ownCookies } = app;
    const publicOrigin = new URL(config.PUBLIC_URL).origin;
    const trusted = new Set(config.CORS_ENABLED ? config.CORS_ORIGIN : []);

    const isForeign = (request: FastifyRequest): boolean => {
      const { origin, 'sec-fetch-site': site } = request.headers;
      // Such a page is foreign, and welcome.
      if (origin !== undefined && trusted.has(origin)) return false;
      if (origin !== undefined && origin !== publicOrigin && origin !== originAskedFor(request)) return true;
      // `none`: the user, by the address bar or a bookmark.
      return site !== undefined && site !== 'same-origin' && site !== 'none';
    };

    app.decorateRequest('requireOwnSite', function (this: FastifyRequest) {
      if (isForeign(this)) throw refuse('A page of another origin may not do this; CORS_ORIGIN lists those that may');
    });

    app.addHook('onRequest', async (request) => {
      if (safeMethods.has(request.method)) return;
      if (!Object.keys(request.cookies).some((name) => ownCookies.has(name))) return;
      request.requireOwnSite();
      if (formTypes.has(mediaTypeOf(request))) {
        throw refuse('A request with our cookies takes application/json, and no content type that a form can send');
      }
    });
  },
  { name: 'cross-site', dependencies: ['config', 'cookie'] },
);

/** The origin of the address that the client asked for, as far as that is known behind proxies. */
function originAskedFor({ protocol, host }: FastifyRequest): string | undefined {
  const address = `${protocol}://${host}`;
  return URL.canParse(address) ? new URL(address).origin : undefined;
}

const mediaTypeOf = ({ headers }: FastifyRequest): string =>
  (headers['content-type'] ?? '').split(/[;,]/, 1)[0]?.trim().toLowerCase() ?? '';
