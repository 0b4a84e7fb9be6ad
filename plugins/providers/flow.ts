import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Executor } from '../../db/client.js';
import { spendState } from '../../db/queries/auth/spent-states.js';
import { ApiError, routeNotFound, unavailable } from '../../schemas/errors.js';
import type { SessionMode, SessionTokens } from '../../schemas/sessions.js';
import { basePathOf } from '../platform/urls.js';
import type { Principal } from '../server/caller.js';
import { toApiError } from '../server/errors.js';
import type { Accounts, LoginOutcome } from './accounts.js';
import { type Attempt, type Attempts, attemptTimeoutMs, challengeOf, type LoginRouteGroup } from './attempts.js';
import type { Provider } from './provider.js';
import { redirectWithReason, requireRedirect } from './redirects.js';

/** How a login through a provider ends for the browser: with a redirect, or with the tokens in the response. */
export type FlowEnd = { to: string } | { tokens: SessionTokens };

/** The steps of a login through a provider in the browser. */
export interface ProviderFlow {
  /** @throws {ApiError} ROUTE_NOT_FOUND when the path does not name a configured provider */
  requireProvider(request: FastifyRequest): void;
  /**
   * Starts a login.
   * @returns the URL at the provider
   * @throws {ApiError} ROUTE_NOT_FOUND, INVALID_PAYLOAD, SERVICE_UNAVAILABLE, INVALID_PROVIDER_CONFIG
   */
  begin(
    request: FastifyRequest,
    reply: FastifyReply,
    form: LoginRouteGroup,
    redirect: string | undefined,
  ): Promise<string>;
  /**
   * Starts linking a provider account to the caller's account. The route must not use GET, because a link on another site could
   * start it.
   * @returns the URL at the provider
   * @throws {ApiError} ROUTE_NOT_FOUND, INVALID_PAYLOAD, SERVICE_UNAVAILABLE, INVALID_PROVIDER_CONFIG
   */
  beginLink(
    request: FastifyRequest,
    reply: FastifyReply,
    caller: Principal,
    redirect: string | undefined,
  ): Promise<string>;
  /** Completes a login when the browser returns. If it fails and the login has a redirect, the redirect contains the reason. */
  finish(request: FastifyRequest, reply: FastifyReply): Promise<FlowEnd>;
  /** Completes a login that waits for the second factor. */
  complete(request: FastifyRequest, reply: FastifyReply, otp: string, mode?: SessionMode): Promise<SessionTokens>;
}

interface Dependencies {
  db: Executor;
  publicUrl: string;
  attempts: Attempts;
  /** By key. */
  providers: ReadonlyMap<string, { provider: Provider; accounts: Accounts }>;
  cookieNames: { state: string; verifier: string; pending: string };
  cookie: { path: string; secure: boolean; httpOnly: true; sameSite: 'lax'; maxAge: number };
}

type NewAttempt = Omit<Parameters<Attempts['begin']>[1], 'challenge'>;

interface Query {
  state?: unknown;
  code?: unknown;
  error?: unknown;
}

export function createProviderFlow(deps: Dependencies): ProviderFlow {
  const { db, publicUrl, attempts, providers, cookieNames, cookie } = deps;
  const home = `${basePathOf(publicUrl)}/`;

  const entryOf = (request: FastifyRequest) => {
    // Linking and unlinking share one path, whose parameter has a single name in OpenAPI: `id`, because unlinking accepts an id.
    const { provider, id = provider } = request.params as { provider?: string; id?: string };
    const entry = providers.get(id ?? '');
    if (!entry) throw routeNotFound(request);
    return entry;
  };

  const start = (
    request: FastifyRequest,
    reply: FastifyReply,
    { provider }: { provider: Provider },
    attempt: NewAttempt,
  ) => {
    const verifier = randomBytes(32).toString('base64url');
    const state = attempts.begin(provider.config.key, { ...attempt, challenge: challengeOf(verifier) });
    return provider.authorizationUrl(request, reply, { state, verifier });
  };

  const redirectOf = ({ provider }: { provider: Provider }, redirect: string | undefined) =>
    redirect ? requireRedirect(redirect, publicUrl, provider.config.REDIRECT_ALLOW_LIST) : null;

  /** Accepts each state only once, because the cookie may have been copied. */
  const spend = async ({ id, expires }: Attempt) => {
    if (!(await spendState(db, id, new Date(expires)))) throw new ApiError('INVALID_CREDENTIALS');
  };

  const clearCookies = (reply: FastifyReply) => {
    for (const name of [cookieNames.state, cookieNames.verifier]) reply.clearCookie(name, cookie);
  };

  /** If the login ends with a redirect, the tokens must be in cookies, because a redirect cannot contain them. */
  const modeOf = ({ provider }: { provider: Provider }, { form, redirect }: Attempt): SessionMode => {
    if (form === 'oauth' && redirect === null) return 'json';
    const { MODE: mode } = provider.config;
    return mode === 'json' ? 'cookie' : mode;
  };

  const completeLogin = async (
    request: FastifyRequest,
    reply: FastifyReply,
    attempt: Attempt | undefined,
    state: string,
  ): Promise<FlowEnd> => {
    const entry = entryOf(request);
    const query = request.query as Query;
    if (!attempt || query.state !== state) throw new ApiError('INVALID_CREDENTIALS');
    await spend(attempt);
    if (query.error !== undefined) throw refusal(entry.provider, query.error);
    // Repeated parameters are rejected, because the two sides could interpret them differently (RFC 6749, 3.1).
    if (typeof query.code !== 'string') throw new ApiError('INVALID_CREDENTIALS');
    const verifier = request
      .cookieValues(cookieNames.verifier)
      .find((value) => challengeOf(value) === attempt.challenge);
    if (verifier === undefined) throw new ApiError('INVALID_CREDENTIALS');
    const profile = await entry.provider.profile(request, reply, { state, verifier });
    const to = attempt.redirect ?? home;
    if (attempt.link) {
      // Otherwise the user who started linking could get a provider account that belongs to the person who returned.
      const { principal } = request;
      if (principal && principal.userId !== attempt.link.user) throw new ApiError('INVALID_CREDENTIALS');
      await entry.accounts.link(profile, attempt.link, request.client);
      return { to };
    }
    const mode = modeOf(entry, attempt);
    const outcome = await entry.accounts.logIn(profile, mode, request.client);
    const tokens = deliver(reply, entry.provider, mode, outcome);
    return attempt.form === 'oauth' && attempt.redirect === null ? { tokens } : { to };
  };

  const deliver = (
    reply: FastifyReply,
    { config }: Provider,
    mode: SessionMode,
    outcome: LoginOutcome,
  ): SessionTokens => {
    if ('issued' in outcome) return reply.sendTokens(outcome.issued);
    const pending = attempts.beginPending(config.key, { ...outcome.waiting, mode });
    reply.setCookie(cookieNames.pending, pending, cookie);
    throw new ApiError('INVALID_OTP');
  };

  return {
    requireProvider: (request) => void entryOf(request),

    begin: async (request, reply, form, redirect) => {
      const entry = entryOf(request);
      const to = redirectOf(entry, redirect);
      try {
        return await start(request, reply, entry, { form, redirect: to, link: null });
      } catch (thrown) {
        return redirectAfterFailure(request, entry.provider.config.key, to, thrown);
      }
    },

    beginLink: async (request, reply, { userId: user, sessionId: session }, redirect) => {
      const entry = entryOf(request);
      if (session === null) throw new ApiError('FORBIDDEN');
      const to = redirectOf(entry, redirect);
      return start(request, reply, entry, { form: 'login', redirect: to, link: { user, session } });
    },

    finish: async (request, reply) => {
      const { provider } = entryOf(request);
      // If there are several cookies, use the one of this login.
      const states = request.cookieValues(cookieNames.state);
      const state = states.find((value) => value === (request.query as Query).state) ?? states[0] ?? '';
      const attempt = attempts.read(provider.config.key, state);
      // A response for another login must not affect the login in progress.
      if ((request.query as Query).state === state) clearCookies(reply);
      try {
        return await completeLogin(request, reply, attempt, state);
      } catch (thrown) {
        const to = redirectAfterFailure(request, provider.config.key, attempt?.redirect ?? null, thrown);
        // The response is a redirect and not an error, so it would not be recorded otherwise.
        await request.recordRefusal(thrown);
        return { to };
      }
    },

    complete: async (request, reply, otp, mode) => {
      const { provider, accounts } = entryOf(request);
      const pending = request
        .cookieValues(cookieNames.pending)
        .map((value) => attempts.readPending(provider.config.key, value))
        .find((found) => found !== undefined);
      if (!pending) throw new ApiError('INVALID_CREDENTIALS');
      const issued = await accounts.complete(pending, otp, mode ?? pending.mode, request.client);
      reply.clearCookie(cookieNames.pending, cookie);
      return reply.sendTokens(issued);
    },
  };
}

/** Logs a failed login and returns the redirect with the reason. Throws the error if the login has no redirect. */
function redirectAfterFailure(
  request: FastifyRequest,
  provider: string,
  redirect: string | null,
  thrown: unknown,
): string {
  const { status, code, outage } = toApiError(thrown);
  request.log[status >= 500 ? 'error' : 'info'](
    { err: thrown, provider, ...outage },
    'a login through a provider failed',
  );
  if (redirect === null) throw thrown;
  if (outage) request.server.outages.note(request, outage, thrown);
  return redirectWithReason(redirect, code);
}

/** Converts an error that the provider returns instead of a code (RFC 6749, 4.1.2.1; OpenID Connect Core 1.0, 3.1.2.6). */
function refusal({ config: { key } }: Provider, error: unknown): ApiError {
  if (error === 'server_error' || error === 'temporarily_unavailable') {
    return unavailable('provider_busy', { provider: key });
  }
  const isOurFault = ['unauthorized_client', 'unsupported_response_type', 'invalid_scope', 'invalid_request'].includes(
    String(error),
  );
  return isOurFault ? new ApiError('INVALID_PROVIDER_CONFIG', { provider: key }) : new ApiError('INVALID_CREDENTIALS');
}

/** Lifetime of the cookies of the flow, in seconds. */
export const cookieLifetime = attemptTimeoutMs / 1000;
