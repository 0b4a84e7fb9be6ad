import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Executor } from '../../db/client.js';
import { spendState } from '../../db/queries/identities.js';
import { ApiError } from '../../schemas/errors.js';
import type { SessionMode, SessionTokens } from '../../schemas/sessions.js';
import { routeNotFound, toApiError } from '../errors.js';
import type { Accounts, LoginOutcome } from './accounts.js';
import { type Attempt, type Attempts, type LoginForm, patience } from './attempts.js';
import type { Provider } from './provider.js';
import { redirectWithReason, requireRedirect } from './redirects.js';

/** How a login by provider ends for the browser: it is led somewhere, or is given the tokens. */
export type FlowEnd = { to: string } | { tokens: SessionTokens };

/** Login by provider, as a browser goes through it (contract 2.5). */
export interface ProviderFlow {
  /** @throws {ApiError} ROUTE_NOT_FOUND when the path names none */
  requireProvider(request: FastifyRequest): void;
  /**
   * Begins a login, or the linking of a further account.
   * @returns the address at the provider
   * @throws {ApiError} ROUTE_NOT_FOUND, INVALID_PAYLOAD, INVALID_CREDENTIALS, FORBIDDEN, SERVICE_UNAVAILABLE, INVALID_PROVIDER_CONFIG
   */
  begin(request: FastifyRequest, reply: FastifyReply, form: LoginForm): Promise<string>;
  /** Takes up the login that has come back. Where it failed and there is a redirect, the reason goes along with it. */
  finish(request: FastifyRequest, reply: FastifyReply): Promise<FlowEnd>;
  /** Goes on with a login that waited for the second factor. */
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

interface Query {
  redirect?: unknown;
  link?: unknown;
  state?: unknown;
  code?: unknown;
  error?: unknown;
}

export function createProviderFlow(deps: Dependencies): ProviderFlow {
  const { db, publicUrl, attempts, providers, cookieNames, cookie } = deps;
  const home = `${new URL(publicUrl).pathname.replace(/\/+$/, '')}/`;

  const entryOf = (request: FastifyRequest) => {
    const entry = providers.get((request.params as { provider: string }).provider);
    if (!entry) throw routeNotFound(request);
    return entry;
  };

  const linkOf = (request: FastifyRequest, form: LoginForm): Attempt['link'] => {
    const { link } = request.query as Query;
    if (link !== undefined && link !== 'true' && link !== 'false') {
      throw new ApiError('INVALID_PAYLOAD', { reason: 'link is true or false, and given once' });
    }
    if (link !== 'true') return null;
    if (form === 'oauth')
      throw new ApiError('INVALID_PAYLOAD', { reason: 'Accounts are linked at /auth/login/{provider}' });
    const { principal } = request;
    // Not by a token in the URL: whoever follows such a link would give their account to whose token it is.
    if (!principal?.sessionId || request.carrier !== 'cookie') throw new ApiError('INVALID_CREDENTIALS');
    if (principal.mustSetUpTfa) throw new ApiError('FORBIDDEN', { reason: 'Set up two-factor authentication first' });
    // A page elsewhere could have the user link an account of its maker's choice, who would then get in by it.
    request.requireOwnSite();
    return { user: principal.userId, session: principal.sessionId };
  };

  /** Each state once, whoever shows it: the cookie may have been kept. */
  const spend = async ({ id, expires }: Attempt) => {
    if (!(await spendState(db, id, new Date(expires)))) throw new ApiError('INVALID_CREDENTIALS');
  };

  const forget = (reply: FastifyReply) => {
    for (const name of [cookieNames.state, cookieNames.verifier]) reply.clearCookie(name, cookie);
  };

  /** Where a browser is led the tokens must be in cookies; there is nowhere else for them. */
  const modeOf = ({ provider }: { provider: Provider }, { form, redirect }: Attempt): SessionMode => {
    if (form === 'oauth' && redirect === null) return 'json';
    const { MODE: mode } = provider.config;
    return mode === 'json' ? 'cookie' : mode;
  };

  const enter = async (
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
    // Several of them would be read by each side in its own way (RFC 6749, 3.1).
    if (typeof query.code !== 'string') throw new ApiError('INVALID_CREDENTIALS');
    const profile = await entry.provider.profile(request, reply, state);
    const to = attempt.redirect ?? home;
    if (attempt.link) {
      // Who began it and who came back would be two people, and the one would get the account of the other.
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
    if ('issued' in outcome) return reply.deliver(outcome.issued);
    const pending = attempts.beginPending(config.key, { ...outcome.waiting, mode });
    reply.setCookie(cookieNames.pending, pending, cookie);
    throw new ApiError('INVALID_OTP');
  };

  return {
    requireProvider: (request) => void entryOf(request),

    begin: async (request, reply, form) => {
      const { provider } = entryOf(request);
      const { redirect } = request.query as Query;
      const link = linkOf(request, form);
      if (redirect !== undefined && typeof redirect !== 'string') {
        throw new ApiError('INVALID_PAYLOAD', { reason: 'redirect may be given once, as text' });
      }
      const { key, REDIRECT_ALLOW_LIST } = provider.config;
      const to = redirect ? requireRedirect(redirect, publicUrl, REDIRECT_ALLOW_LIST) : null;
      const state = attempts.begin(key, { form, redirect: to, link });
      try {
        return await provider.authorizationUrl(request, reply, state);
      } catch (thrown) {
        return failed(request, key, to, thrown);
      }
    },

    finish: async (request, reply) => {
      const { provider } = entryOf(request);
      const state = request.cookies[cookieNames.state] ?? '';
      const attempt = attempts.read(provider.config.key, state);
      // What comes back for another login leaves the one alone that is under way.
      if ((request.query as Query).state === state) forget(reply);
      try {
        return await enter(request, reply, attempt, state);
      } catch (thrown) {
        const to = failed(request, provider.config.key, attempt?.redirect ?? null, thrown);
        // The browser is led on with the reason: no error is answered that would be recorded.
        await request.recordRefusal(thrown);
        return { to };
      }
    },

    complete: async (request, reply, otp, mode) => {
      const { provider, accounts } = entryOf(request);
      const pending = attempts.readPending(provider.config.key, request.cookies[cookieNames.pending]);
      if (!pending) throw new ApiError('INVALID_CREDENTIALS');
      const issued = await accounts.complete(pending, otp, mode ?? pending.mode, request.client);
      reply.clearCookie(cookieNames.pending, cookie);
      return reply.deliver(issued);
    },
  };
}

/** Where a login leads that failed; without a redirect, to the answer that says so. */
function failed(request: FastifyRequest, provider: string, redirect: string | null, thrown: unknown): string {
  const { status, code } = toApiError(thrown);
  request.log[status >= 500 ? 'error' : 'info']({ err: thrown, provider }, 'a login by provider failed');
  if (redirect === null) throw thrown;
  return redirectWithReason(redirect, code);
}

/** What the provider says in the place of a code (RFC 6749, 4.1.2.1; OpenID Connect Core 1.0, 3.1.2.6). */
function refusal({ config: { key } }: Provider, error: unknown): ApiError {
  if (error === 'server_error' || error === 'temporarily_unavailable') {
    return new ApiError('SERVICE_UNAVAILABLE', { service: key, reason: 'The provider cannot log anybody in now.' });
  }
  const isOurFault = ['unauthorized_client', 'unsupported_response_type', 'invalid_scope', 'invalid_request'].includes(
    String(error),
  );
  return isOurFault ? new ApiError('INVALID_PROVIDER_CONFIG', { provider: key }) : new ApiError('INVALID_CREDENTIALS');
}

/** Seconds that the cookies of the flow live. */
export const cookieLifetime = patience / 1000;
