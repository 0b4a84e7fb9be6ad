import type { FastifyRequest } from 'fastify';
import { collections } from '../../db/query-language/collections.js';
import { plainFields } from '../../db/query-language/fields.js';
import { ApiError } from '../../schemas/errors.js';
import type { Need, RouteAccess } from '../../schemas/needs.js';
import type { OperationScope } from '../../schemas/scopes.js';
import type { Caller, Principal } from '../http/caller.js';
import { type AcceptedKinds, acceptedBy, requireKind, requireScope } from '../http/credential.js';
import { definePlugin, type Services } from '../platform/plugin.js';
import { createMonitoring, type MonitoringCaller } from './monitoring.js';
import { meetsNeed } from './needs.js';

declare module '../platform/plugin.js' {
  interface Services {
    /** Whether the Authorization header of a request contains METRICS_TOKEN. */
    hasMetricsToken(request: Pick<FastifyRequest, 'headers'>): boolean;
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated user; null for an anonymous caller. */
    principal: Principal | null;
    /** The authenticated user, on routes that require one. */
    currentUser: Principal;
    /** The caller of a route that evaluates permissions. The caller can be anonymous. */
    caller: Caller;
    /** Whether the route accepted the credential, or its absence. If the request is rejected later, it is for another reason. */
    isAdmitted: boolean;
    /**
     * Authenticates the caller again, and checks again what the route declares about callers. For responses that take a long time.
     * @throws {ApiError} if a new request would be rejected
     */
    checkCallerAgain(): Promise<Caller>;
    /** Set instead of `principal` on routes for monitoring, if the caller was not looked up in the database. */
    monitor: MonitoringCaller['monitor'];
  }
  interface FastifyContextConfig {
    access?: RouteAccess;
    /** The kinds of credentials that the operation accepts. Callers with another one get FORBIDDEN. Default: `acceptedByDefault`. */
    credentials?: AcceptedKinds;
    /** The scope with which the operation also accepts credentials that have scopes. Without it, it never accepts them. */
    scope?: OperationScope;
    /** Callers who do not meet this need are rejected before the service evaluates their body and query. */
    needs?: Need;
    /** Whether users who must still set up or prove a second factor can call the route. */
    beforeTfa?: boolean;
    /** Whether the route returns the caller's own row, which is read together with their rights. */
    readsOwnRow?: boolean;
    /** Whether the route reports on the service itself, and must do so even if the database does not respond. */
    isForMonitoring?: boolean;
  }
}

/** `request.principal`, `request.currentUser` and `request.caller`. Authenticates each request, and checks what its route requires. */
export const authenticationPlugin = definePlugin('access/authentication', (services, app) => {
  const { config, access, stepUp, ownPassword, signInMethods, lastAccess } = services;
  app.decorateRequest('principal', null);
  app.decorateRequest('isAdmitted', false);
  app.decorateRequest('monitor', null);
  const monitoring = createMonitoring(services);
  app.decorateRequest('currentUser', {
    getter(this: FastifyRequest) {
      if (!this.principal) throw new ApiError('INVALID_CREDENTIALS');
      return this.principal;
    },
  });
  app.decorateRequest('caller', null as unknown as Caller);

  app.addHook('onRequest', async (request, reply) => {
    // Every route declares a rule. If a route ever lacks one, it requires authentication.
    const rule = request.routeOptions.config.access ?? 'authenticated';
    if (rule === 'open') return;
    const { evaluatesSessionCookie, isForMonitoring } = request.routeOptions.config;
    const presented = presentedIn(request, evaluatesSessionCookie ? undefined : config.SESSION_COOKIE_NAME);
    if (presented) {
      try {
        const { tokens } = presented;
        if (isForMonitoring) Object.assign(request, await monitoring.identify(tokens, request.client));
        else request.principal = await access.authenticate(tokens, request.client, ownFields(request));
        // No scope is for a public operation, so a credential that is limited to scopes adds nothing to it.
        if (rule === 'anonymous' && request.principal?.credential.scopes) request.principal = null;
      } catch (error) {
        const isCookie = presented.isCookie && error instanceof ApiError && error.status < 500;
        // An expired cookie is not cleared, because the browser removes it.
        const isDead = isCookie && (error.code === 'INVALID_CREDENTIALS' || error.code === 'INVALID_TOKEN');
        if (isDead && !error.keepsCookie) reply.clearSessionCookie();
        // A neighboring host may have set the cookie. It must not prevent users from logging in.
        if (!isCookie || rule !== 'anonymous') throw error;
      }
    }
    await admit(request, rule);
  });

  app.decorateRequest('checkCallerAgain', async function (this: FastifyRequest) {
    const { access: rule, evaluatesSessionCookie } = this.routeOptions.config;
    const presented = presentedIn(this, evaluatesSessionCookie ? undefined : config.SESSION_COOKIE_NAME);
    this.principal = presented ? await access.authenticate(presented.tokens, this.client) : null;
    await admit(this, rule ?? 'authenticated');
    return this.caller ?? this.currentUser;
  });

  /** Checks what the route declares about callers. */
  const admit = async (request: FastifyRequest, rule: RouteAccess) => {
    const { principal } = request;
    const { config: route } = request.routeOptions;
    if (rule === 'authenticated' && !principal) throw new ApiError('INVALID_CREDENTIALS');
    request.isAdmitted = true;
    if (principal?.mustSetUpTfa && !(route.beforeTfa && principal.credential.scopes === null)) {
      throw new ApiError('FORBIDDEN', {
        reason: 'Set up two-factor authentication first, or confirm your identity with your passkey',
      });
    }
    if (rule === 'permission') request.caller = principal ?? (await access.anonymous(request.client));
    const { needs, scope, requiresFresh, refusesManagedUsers } = route;
    if (principal && scope) requireScope(principal, scope);
    const caller = principal ?? request.caller;
    if (needs !== undefined && !(caller && meetsNeed(caller, needs))) throw new ApiError('FORBIDDEN');
    if (principal) requireKind(principal, acceptedBy(route));
    if (refusesManagedUsers) signInMethods.requireUnmanaged(await ownPassword.read(request.currentUser));
    if (requiresFresh) await stepUp.requireFresh(request.currentUser);
  };

  app.addHook('onResponse', async ({ principal }) => {
    // A dry run changes nothing, not even this.
    if (principal && !principal.client.unit?.isDryRun) lastAccess.recordRequest(principal);
  });
  const hasMetricsToken: Services['hasMetricsToken'] = ({ headers }) =>
    monitoring.isMetricsToken(bearerToken(headers.authorization) ?? '');
  return { hasMetricsToken };
});

/** The fields of the caller's own row that a route will return, if they can be determined this early. */
function ownFields({ routeOptions, query }: FastifyRequest): readonly string[] | undefined {
  const { fields, meta } = query as { fields?: unknown; meta?: unknown };
  return routeOptions.config.readsOwnRow && meta === undefined ? plainFields(fields, collections.users) : undefined;
}

interface Presented {
  /** One token, or several if the request has several session cookies. */
  tokens: readonly string[];
  isCookie: boolean;
}

/**
 * What a request presents: a token in the query or in the header, but not in both. The session cookie is used only if there is
 * no token.
 * @param sessionCookie name of the session cookie; undefined: the cookie is not a credential for this route
 * @throws {ApiError} INVALID_PAYLOAD
 */
function presentedIn(request: FastifyRequest, sessionCookie: string | undefined): Presented | undefined {
  const query = (request.query as { access_token?: unknown }).access_token;
  if (query !== undefined && typeof query !== 'string') {
    throw new ApiError('INVALID_PAYLOAD', { reason: 'access_token must be a single string' });
  }
  const header = bearerToken(request.headers.authorization);
  if (query && header) {
    throw new ApiError('INVALID_PAYLOAD', {
      reason: 'The request has a token both in the query and in the Authorization header. Send only one.',
    });
  }
  if (query) return { tokens: [query], isCookie: false };
  if (header) return { tokens: [header], isCookie: false };
  const cookies = sessionCookie === undefined ? [] : request.cookieValues(sessionCookie);
  return cookies.length > 0 ? { tokens: cookies, isCookie: true } : undefined;
}

/** The token of `Bearer <token>` (RFC 6750, 2.1): case-insensitive scheme, exactly two parts. Other schemes are ignored. */
function bearerToken(header: string | undefined): string | undefined {
  const [scheme, token, ...rest] = header?.split(' ') ?? [];
  return scheme?.toLowerCase() === 'bearer' && token && rest.length === 0 ? token : undefined;
}
