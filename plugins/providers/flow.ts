import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { spendState } from '../../db/queries/providers/spent-states.js';
import { ApiError, routeNotFound, unavailable } from '../../schemas/errors.js';
import type { SessionMode, SessionTokens } from '../../schemas/sessions.js';
import type { Principal } from '../http/caller.js';
import { requireSession } from '../http/credential.js';
import { toApiError } from '../http/errors.js';
import { createSecretBox } from '../platform/encryption.js';
import { keysFor } from '../platform/key-derivation.js';
import type { Services } from '../platform/plugin.js';
import type { Accounts, LoginOutcome } from './accounts.js';
import {
  type Attempt,
  type Attempts,
  attemptTimeoutMs,
  challengeOf,
  createAttempts,
  type LoginRouteGroup,
} from './attempts.js';
import { misconfigured, quoted, refused, type Warn } from './failures.js';
import type { Provider } from './provider.js';
import { redirectWithReason, requireRedirect } from './redirects.js';

/** How a login through a provider ends for the browser: with a redirect, or with the tokens in the response. */
export type FlowEnd = { to: string } | { tokens: SessionTokens };

/** The steps of a login through a provider in the browser. */
export interface ProviderFlow {
  /** @throws {ApiError} ROUTE_NOT_FOUND when the path does not name a configured provider */
  requireProvider(request: FastifyRequest): void;
  /** Whether the path names a provider that returns the browser with a form. */
  returnsForms(request: FastifyRequest): boolean;
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

type NewAttempt = Omit<Parameters<Attempts['begin']>[1], 'challenge'>;

/** What the provider sends back with the browser. */
interface Returned {
  state?: unknown;
  code?: unknown;
  iss?: unknown;
  error?: unknown;
  error_description?: unknown;
  /** The name of the user, as JSON, which only Apple sends, and only at the first login. */
  user?: unknown;
}

/** @param providers by key */
export function createProviderFlow(
  { config, basePath, db, clock, ownCookies }: Services,
  providers: ReadonlyMap<string, { provider: Provider; accounts: Accounts }>,
): ProviderFlow {
  const { PUBLIC_URL: publicUrl } = config;
  const home = `${basePath}/`;
  const attempts = createAttempts({ box: createSecretBox(keysFor(config, 'provider-login')), clock });
  const secure = publicUrl.startsWith('https:');
  // Browsers prevent every other host, including subdomains, from setting a cookie with this name.
  const nameOf = (what: string) => `${secure ? '__Host-' : ''}gatehouse_provider_${what}`;
  const cookieNames = { state: nameOf('state'), verifier: nameOf('verifier'), pending: nameOf('pending') };
  for (const name of Object.values(cookieNames)) ownCookies.add(name);
  const cookie = { path: '/', secure, httpOnly: true, sameSite: 'lax', maxAge: cookieLifetime } as const;

  const entryOf = (request: FastifyRequest) => {
    // Linking and unlinking share one path, whose parameter has a single name in OpenAPI: `id`, because unlinking accepts an id.
    const { provider, id = provider } = request.params as { provider?: string; id?: string };
    const entry = providers.get(id ?? '');
    if (!entry) throw routeNotFound(request);
    return entry;
  };

  const start = async (reply: FastifyReply, { provider }: { provider: Provider }, attempt: NewAttempt) => {
    const verifier = randomBytes(32).toString('base64url');
    const state = attempts.begin(provider.config.key, { ...attempt, challenge: challengeOf(verifier) });
    const url = await provider.authorizationUrl({ state, verifier });
    const ofProvider = cookieOf(provider);
    reply.setCookie(cookieNames.state, state, ofProvider).setCookie(cookieNames.verifier, verifier, ofProvider);
    return url;
  };

  const redirectOf = ({ provider }: { provider: Provider }, redirect: string | undefined) =>
    redirect ? requireRedirect(redirect, publicUrl, provider.config.REDIRECT_ALLOW_LIST) : null;

  /** Accepts each state only once, because the cookie may have been copied. */
  const spend = async ({ id, expires }: Attempt) => {
    if (!(await spendState(db, id, new Date(expires)))) throw refused('The login has already been completed.');
  };

  /** With a form of another site, browsers send only cookies that are marked as `SameSite=None`, which must also be secure. */
  const cookieOf = ({ config: { RESPONSE_MODE: mode } }: Provider) =>
    mode === 'form_post' ? ({ ...cookie, sameSite: 'none', secure: true } as const) : cookie;

  const clearCookies = (reply: FastifyReply, provider: Provider) => {
    for (const name of [cookieNames.state, cookieNames.verifier]) reply.clearCookie(name, cookieOf(provider));
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
    const { code, iss, error, error_description, user, ...returned } = returnedBy(request);
    if (!attempt || returned.state !== state) {
      throw refused(
        'The login was not started in this browser, or more than five minutes ago: no cookie has its state.',
      );
    }
    await spend(attempt);
    if (error !== undefined) throw refusal(entry.provider, error, error_description);
    // Repeated parameters are rejected, because the two sides could interpret them differently (RFC 6749, 3.1).
    if (typeof code !== 'string' || code === '') throw refused('The provider returned the browser without a code.');
    const warn = warnOf(request, entry.provider.config.key);
    const verifier = request
      .cookieValues(cookieNames.verifier)
      .find((value) => challengeOf(value) === attempt.challenge);
    if (verifier === undefined) throw refused('The browser has lost the cookie with the code verifier of this login.');
    const profile = await entry.provider.profile({ code, iss, user }, { state, verifier }, warn);
    const to = attempt.redirect ?? home;
    if (attempt.link) {
      // Otherwise the user who started linking could get a provider account that belongs to the person who returned.
      const { principal } = request;
      if (principal && principal.userId !== attempt.link.user) {
        throw refused('Another user has signed in since the linking was started.');
      }
      await entry.accounts.link(profile, attempt.link, request.client);
      return { to };
    }
    const mode = modeOf(entry, attempt);
    const outcome = await entry.accounts.logIn(profile, mode, request.client, warn);
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

    returnsForms: (request) => {
      const { provider } = request.params as { provider?: string };
      return providers.get(provider ?? '')?.provider.config.RESPONSE_MODE === 'form_post';
    },

    begin: async (request, reply, form, redirect) => {
      const entry = entryOf(request);
      const to = redirectOf(entry, redirect);
      try {
        return await start(reply, entry, { form, redirect: to, link: null });
      } catch (thrown) {
        return redirectAfterFailure(request, entry.provider.config.key, to, thrown);
      }
    },

    beginLink: async (request, reply, caller, redirect) => {
      const entry = entryOf(request);
      const { id: session } = requireSession(caller);
      const to = redirectOf(entry, redirect);
      try {
        return await start(reply, entry, { form: 'login', redirect: to, link: { user: caller.userId, session } });
      } catch (thrown) {
        logFailure(request, entry.provider.config.key, thrown);
        throw thrown;
      }
    },

    finish: async (request, reply) => {
      const { provider } = entryOf(request);
      // If there are several cookies, use the one of this login.
      const states = request.cookieValues(cookieNames.state);
      const returned = returnedBy(request);
      const state = states.find((value) => value === returned.state) ?? states[0] ?? '';
      const attempt = attempts.read(provider.config.key, state);
      // A response for another login must not affect the login in progress.
      if (returned.state === state) clearCookies(reply, provider);
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
      const { key } = provider.config;
      try {
        const pending = request
          .cookieValues(cookieNames.pending)
          .map((value) => attempts.readPending(key, value))
          .find((found) => found !== undefined);
        if (!pending) throw refused('No login in this browser waits for a code.');
        const issued = await accounts.complete(
          pending,
          otp,
          mode ?? pending.mode,
          request.client,
          warnOf(request, key),
        );
        reply.clearCookie(cookieNames.pending, cookie);
        return reply.sendTokens(issued);
      } catch (thrown) {
        logFailure(request, key, thrown);
        throw thrown;
      }
    },
  };
}

/** What the provider sends back with the browser: in a form, or in the query. */
const returnedBy = ({ method, body, query }: FastifyRequest) => (method === 'POST' ? body : query) as Returned;

const warnOf =
  ({ log }: FastifyRequest, provider: string): Warn =>
  (what, details = {}) =>
    log.warn({ provider, ...details }, `login through a provider: ${what}`);

/** Logs why a login failed. Clients receive only the code. */
function logFailure(request: FastifyRequest, provider: string, thrown: unknown): void {
  const { status, outage, reason } = toApiError(thrown);
  request.log[status >= 500 ? 'error' : 'info'](
    { err: thrown, provider, ...(reason === undefined ? {} : { reason }), ...outage },
    'a login through a provider failed',
  );
}

/** Logs a failed login and returns the redirect with the reason. Throws the error if the login has no redirect. */
function redirectAfterFailure(
  request: FastifyRequest,
  provider: string,
  redirect: string | null,
  thrown: unknown,
): string {
  logFailure(request, provider, thrown);
  if (redirect === null) throw thrown;
  request.recordOutage(thrown);
  return redirectWithReason(redirect, toApiError(thrown).code);
}

/** Errors at the authorization endpoint that are the fault of the configuration, not of the user. */
const ourFaults = new Set<unknown>([
  'unauthorized_client',
  'unsupported_response_type',
  'invalid_scope',
  'invalid_request',
]);

/** Converts an error that the provider returns instead of a code (RFC 6749, 4.1.2.1; OpenID Connect Core 1.0, 3.1.2.6). */
function refusal({ config: { key } }: Provider, error: unknown, description: unknown): ApiError {
  const details = [error, description].map((text) => quoted(text)).filter(Boolean);
  const cause = `The provider returned the browser with the error ${details.join(': ')}`;
  if (error === 'server_error' || error === 'temporarily_unavailable') {
    const busy = unavailable('provider_busy', { provider: key });
    busy.cause = new Error(cause);
    return busy;
  }
  return ourFaults.has(error) ? misconfigured(key, cause) : refused(cause);
}

/** Lifetime of the cookies of the flow, in seconds. */
export const cookieLifetime = attemptTimeoutMs / 1000;
