import type { FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { collections } from '../../db/query-language/collections.js';
import { plainFields } from '../../db/query-language/fields.js';
import { ApiError } from '../../schemas/errors.js';
import { type Credential, credentialOf } from './credential.js';
import { type Access, type Caller, createAccess, type Principal } from './service.js';

/**
 * Who may call a route. `open`: anyone, and no credential is looked at. `anonymous`: anyone. `permission`: whoever has
 * the permissions for it, be it by the public policy. `authenticated`: only who proves who they are.
 */
export type RouteAccess = 'open' | 'anonymous' | 'permission' | 'authenticated';

declare module 'fastify' {
  interface FastifyInstance {
    access: Access;
  }
  interface FastifyRequest {
    /** Who is calling; null: nobody who says so. */
    principal: Principal | null;
    /** By what they say so; null: nothing was shown. */
    carrier: Credential['carrier'] | null;
    /** The user who calls a route that is for users only. */
    currentUser: Principal;
    /** Whoever calls a route that goes by permissions. */
    caller: Caller;
    /** Whether the credential, or that there is none, was accepted: what is refused then is refused for a reason of its own. */
    isAdmitted: boolean;
  }
  interface FastifyContextConfig {
    access?: RouteAccess;
    /** A dead session cookie is no obstacle: the route is there to take it away, or to put another in its place. */
    takesDeadCookie?: boolean;
    /** Whether the route answers a user who must set up two-factor authentication and has not done so yet. */
    beforeTfa?: boolean;
    /** The route answers with the caller's own row, which is read together with their rights. */
    readsOwnRow?: boolean;
  }
}

/** `app.access`, `request.principal`, `request.currentUser` and `request.caller`: every request is authenticated before anything else happens. */
export const accessPlugin = plugin(
  async (app) => {
    const { config, db, clock, accessTokens } = app;
    const access = createAccess({ db, clock, accessTokens, gracePeriod: config.SESSION_REFRESH_GRACE_PERIOD });
    app.decorate('access', access);
    app.decorateRequest('principal', null);
    app.decorateRequest('carrier', null);
    app.decorateRequest('isAdmitted', false);
    app.decorateRequest('currentUser', {
      getter(this: FastifyRequest) {
        if (!this.principal) throw new ApiError('INVALID_CREDENTIALS');
        return this.principal;
      },
    });
    app.decorateRequest('caller', null as unknown as Caller);

    app.addHook('onRequest', async (request, reply) => {
      // Every route has a rule; should one ever lack it, it is closed.
      const rule = request.routeOptions.config.access ?? 'authenticated';
      if (rule === 'open' || request.is404) return;
      const credential = credentialOf(request, config.SESSION_COOKIE_NAME);
      if (credential) {
        request.carrier = credential.carrier;
        try {
          request.principal = await access.authenticate(credential.token, request.client, ownFields(request));
        } catch (error) {
          // A cookie that will never work again is taken away; one that has expired goes by itself.
          const isCookie = credential.carrier === 'cookie' && error instanceof ApiError;
          if (isCookie && request.routeOptions.config.takesDeadCookie && error.status < 500) {
            request.isAdmitted = true;
            return;
          }
          const isDead = isCookie && (error.code === 'INVALID_CREDENTIALS' || error.code === 'INVALID_TOKEN');
          if (isDead) reply.clearSessionCookie();
          throw error;
        }
      }
      const { principal } = request;
      if (rule === 'authenticated' && !principal) throw new ApiError('INVALID_CREDENTIALS');
      request.isAdmitted = true;
      if (principal?.mustSetUpTfa && !request.routeOptions.config.beforeTfa) {
        throw new ApiError('FORBIDDEN', { reason: 'Set up two-factor authentication first' });
      }
      if (rule === 'permission') request.caller = principal ?? (await access.anonymous(request.client));
    });
  },
  { name: 'access', dependencies: ['config', 'database', 'clock', 'tokens', 'cookie', 'client'] },
);

/** What a route that answers with the caller's own row will want of it, where that can be told so early. */
function ownFields({ routeOptions, query }: FastifyRequest): readonly string[] | undefined {
  const { fields, meta } = query as { fields?: unknown; meta?: unknown };
  return routeOptions.config.readsOwnRow && meta === undefined ? plainFields(fields, collections.users) : undefined;
}
