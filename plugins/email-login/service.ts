import { findLoginCandidate } from '../../db/queries/sessions/logins.js';
import { readSettings } from '../../db/queries/settings/settings.js';
import { markEmailVerified } from '../../db/queries/step-up/email-codes.js';
import { transact } from '../../db/statements.js';
import { type FailureReason, reasonOfStatus } from '../../schemas/activity.js';
import { ApiError, invalidCredentials } from '../../schemas/errors.js';
import type { SessionMode } from '../../schemas/sessions.js';
import type { Client, Principal } from '../http/caller.js';
import { requireSession } from '../http/credential.js';
import type { Services } from '../platform/plugin.js';
import { padRefusal } from '../platform/response-time-padding.js';
import { pagePath, returnUrl } from '../platform/urls.js';
import type { SecondFactorUser } from '../second-factor/service.js';
import { addressToSignIn } from '../sessions/address-to-sign-in.js';
import type { IssuedSession } from '../sessions/issuing.js';
import type { Binding } from '../tokens/email-codes.js';

/** What a user signs in with: the token of the link, or the code together with what identifies the browser or app. */
export type EmailCredential = { token: string } | { email: string; code: string; bindings: readonly Binding[] };

interface LoginOptions {
  /** A one-time password or a recovery code. */
  otp?: string | undefined;
  mode: SessionMode;
}

export interface EmailLogin {
  /**
   * Requests an email with a code and a link, which is sent if the address belongs to an active user of this service. This method
   * enqueues the same job for every address and does not look up the user, so neither the response nor its time reveals anything.
   * @param request.redirect the path of the account page that the page behind the link opens after the login
   * @param request.returnTo the URL of an app that it opens instead; ignored if it is not allowed
   * @param request.binding what identifies the browser or app in which the code will work
   * @throws {ApiError} FORBIDDEN if sign-in by email is turned off; INVALID_PAYLOAD if the redirect is not allowed
   */
  request(
    request: { email: string; redirect?: string | undefined; returnTo?: string | undefined; binding: Binding },
    client: Client,
  ): Promise<void>;
  /**
   * Requests an email with a code that makes the caller's session fresh. It is sent only if the user has no other proof of identity
   * in this service (`methods` of REAUTHENTICATION_REQUIRED contains `email`).
   * @throws {ApiError} FORBIDDEN for a static token
   */
  requestConfirmation(caller: Principal): Promise<void>;
  /**
   * Returns whose link this is and which account page or app it opens after the login, without using it.
   * @throws {ApiError} FORBIDDEN if sign-in by email is turned off; INVALID_TOKEN if this is not a token; INVALID_CREDENTIALS if the
   *   link was used, has expired, or is void
   */
  inspect(token: string): Promise<{ email: string; redirect?: string }>;
  /**
   * Logs in with a code or a link, and creates a session. Wrong codes count as failed login attempts.
   * @throws {ApiError} FORBIDDEN if sign-in by email is turned off; INVALID_CREDENTIALS, identical for every reason; INVALID_OTP, after
   *   which the same code or link can be sent again; REQUESTS_EXCEEDED
   */
  login(credential: EmailCredential, options: LoginOptions, client: Client): Promise<IssuedSession>;
}

/** Characters: more than any account page has, with the path of PUBLIC_URL. As many as are stored. */
const maxRedirectLength = 255;

const requested = { action: 'email_login_request', collection: 'users' } as const;

const reasonOf = (user: { status: string } | undefined): FailureReason => {
  if (!user) return 'unknown_user';
  return user.status === 'active' ? 'wrong_code' : reasonOfStatus(user.status);
};

export function createEmailLogin({
  config,
  basePath,
  db,
  clock,
  emailCodes,
  emailProofs: proofs,
  mail,
  passwordChecks,
  secondFactor,
  rateLimits,
  activity,
  sessions,
  stepUp,
  ownPassword,
  requestMail,
}: Services): EmailLogin {
  const { begin } = sessions;
  /** The page that the link opens. */
  const linkPage = `${config.PUBLIC_URL}/account/email-login`;

  const requireTurnedOn = async () => {
    const settings = await readSettings(db);
    if (!settings.email_login) throw new ApiError('FORBIDDEN', { reason: 'Sign-in by email is turned off' });
  };

  const requireAccountPage = (redirect: string): string => {
    const path = pagePath(basePath, redirect);
    if (path !== undefined && path.length <= maxRedirectLength && !/[?#]/.test(redirect)) return path;
    const reason = 'redirect must be the path of an account page, without a query';
    throw new ApiError('INVALID_PAYLOAD', { reason });
  };

  /** Whether the page behind a link may open this: the setting may have changed since the link was requested. */
  const isAllowedTarget = (target: string) =>
    target.startsWith('/') || returnUrl(config.ACCOUNT_RETURN_ORIGINS, target) !== undefined;

  const complete = async (
    user: SecondFactorUser,
    request: string,
    { otp, mode }: LoginOptions,
    client: Client,
    counted: readonly string[] = [],
  ): Promise<IssuedSession> => {
    const { id, tfaSecret } = user;
    const code = await secondFactor.require(user, otp, client);
    return transact(db, async (tx) => {
      const issued = await begin(tx, { id, tfaSecret }, mode, client, {
        proved: { email: true, code },
        counted,
        hasOwnNotice: code?.kind === 'recovery',
      });
      if (!issued) throw invalidCredentials(id, 'user_changed');
      if (!(await proofs.consume(tx, id, request))) throw invalidCredentials(id, 'wrong_code');
      if (code) await secondFactor.consume(tx, id, code, { userId: id, client });
      await markEmailVerified(tx, id, clock());
      return issued;
    });
  };

  const loginWithCode = (
    { email, code, bindings }: Extract<EmailCredential, { code: string }>,
    options: LoginOptions,
    client: Client,
  ) =>
    passwordChecks.runAttempt(email, { userId: null, client }, async (attempt) => {
      const { user, attempts: state } = await findLoginCandidate(db, email, client.network, attempt.keys);
      const id = user?.id ?? null;
      const request = await attempt.verifyBy({ id, state }, () => proofs.check(id, 'login', code, bindings));
      if (!user || request === undefined) throw invalidCredentials(user?.id, reasonOf(user));
      return complete(user, request, options, client, attempt.counted);
    });

  /** A token cannot be guessed, so a wrong one counts only against the client's address, and an account lock does not apply. */
  const loginWithToken = async (token: string, options: LoginOptions, client: Client) => {
    const found = await proofs.find(token);
    if (!found) throw (await rateLimits.countLogin(client.network)) ?? invalidCredentials(undefined, 'void_link');
    return complete(found.user, found.request, options, client);
  };

  return {
    request: async ({ email: given, redirect, returnTo, binding }, client) => {
      const email = await addressToSignIn(db, given);
      await requireTurnedOn();
      // It is stored with the request. Nothing that an anonymous caller sends is in the email.
      const page = redirect === undefined ? undefined : requireAccountPage(redirect);
      const app = returnUrl(config.ACCOUNT_RETURN_ORIGINS, returnTo);
      const target = app !== undefined && app.length <= maxRedirectLength ? app : page;
      const opens = target === undefined ? {} : { redirect: target };
      const [bindingHash] = emailCodes.bindingHashes(binding);
      const requestedAt = clock().toISOString();
      await requestMail(email, client, (origin) =>
        db.transaction(async (tx) => {
          const request = { ...origin, ...opens, requestedAt, binding: bindingHash };
          await mail.enqueue(tx, { ...request, kind: 'email_login', email, url: linkPage });
          // The event names no user, because the address is not looked up here. What the caller typed may not even be an address.
          await activity.record(tx, { userId: null, client }, [requested]);
        }),
      );
    },

    requestConfirmation: async (caller) => {
      const { userId, client } = caller;
      const { id: sessionId } = requireSession(caller);
      const methods = await stepUp.methodsOf(caller);
      const { email } = await ownPassword.read(caller);
      if (!methods.includes('email') || email === null) return;
      const [binding] = emailCodes.bindingHashes(['session', sessionId]);
      const requestedAt = clock().toISOString();
      await requestMail(email, client, (origin) =>
        db.transaction(async (tx) => {
          await mail.enqueue(tx, { ...origin, requestedAt, kind: 'email_code', user: userId, binding });
          await activity.record(tx, caller, [{ ...requested, item: userId }]);
        }),
      );
    },

    inspect: async (token) => {
      await requireTurnedOn();
      if (emailCodes.tokenHashes(token).length === 0) throw new ApiError('INVALID_TOKEN');
      const found = await proofs.find(token);
      if (!found) throw invalidCredentials(undefined, 'void_link');
      const { redirect, user } = found;
      return { email: user.email ?? '', ...(redirect !== null && isAllowedTarget(redirect) ? { redirect } : {}) };
    },

    login: async (credential, options, client) => {
      const email = 'token' in credential ? '' : await addressToSignIn(db, credential.email);
      await requireTurnedOn();
      return padRefusal(() =>
        'token' in credential
          ? loginWithToken(credential.token, options, client)
          : loginWithCode({ ...credential, email }, options, client),
      );
    },
  };
}
