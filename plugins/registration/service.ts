import { randomUUID } from 'node:crypto';
import type { Executor } from '../../db/client.js';
import {
  findRecipient,
  insertAccount,
  lockRecipient,
  lockRecipientByEmail,
  type Recipient,
} from '../../db/queries/mail/recipients.js';
import { matchesRegistrationFilter } from '../../db/queries/registration/registration-filter.js';
import {
  activateRegistered,
  insertRegistration,
  type PendingRegistration,
  readRegistrations,
  writeRegistrationRole,
} from '../../db/queries/registration/registrations.js';
import { deleteUsersWithoutRegistrations } from '../../db/queries/registration/unclaimed-users.js';
import { readSettings } from '../../db/queries/settings/settings.js';
import { ApiError } from '../../schemas/errors.js';
import type { Client } from '../http/caller.js';
import { invalidPayload } from '../items/payload.js';
import { isApplicable, scopeOf, stateOfRegistration } from '../mail/recipients.js';
import type { Services } from '../platform/plugin.js';
import { padResponseTime } from '../platform/response-time-padding.js';
import { requireAllowedUrl } from '../platform/urls.js';
import type { LinkClaims } from '../tokens/link-tokens.js';

export interface NewRegistration {
  email: string;
  password: string;
  firstName: string | null;
  lastName: string | null;
  /** The URL that the link opens. */
  url: string | undefined;
  /** Hash of the cookie that identifies the browser. */
  browserHash: string;
}

/** What a confirmation of a registration requires in addition to the token. */
export type RequiredProof = 'none' | 'password';

export interface Registration {
  /**
   * Registers a user, if the settings allow it, and sends an email to verify the address. Each registration of an address stays
   * pending, independently of the others, until one of them is verified. The response and its timing are always the same.
   * @throws {ApiError} INVALID_PAYLOAD when the URL is not allow-listed; REQUESTS_EXCEEDED
   */
  register(registration: NewRegistration, client: Client): Promise<void>;
  /** Resends the email of the latest pending registration, if there is one. The response and its timing are always the same. */
  resend(email: string, client: Client): Promise<void>;
  /** The same for a link that has expired. The email goes to the stored address. @throws {ApiError} INVALID_TOKEN, FORBIDDEN */
  sendAgain(token: string, client: Client): Promise<void>;
  /**
   * Activates the registration of a link, with its password and names, and ends the other registrations of its address.
   * @throws {ApiError} INVALID_TOKEN, TOKEN_EXPIRED; FORBIDDEN for a token of another kind; INVALID_PAYLOAD when the token was used or
   *   is void
   */
  verify(token: string, client: Client): Promise<void>;
  /**
   * Like `verify`, for a user on the verification page. Every browser except the one that registered must send a password, which
   * becomes the password of the account. This ensures that the owner of the mailbox has a password that no one else knows, even if
   * another person registered the address.
   * @param browserHashes hashes of the cookies that the browser sent
   * @throws {ApiError} as `verify`; INVALID_PAYLOAD when a required password is missing; FAILED_VALIDATION
   */
  confirm(token: string, password: string | undefined, browserHashes: readonly string[], client: Client): Promise<void>;
  /** Returns what is required to confirm this link, without changing anything. @throws {ApiError} as `verify` */
  inspect(token: string, browserHashes: readonly string[]): Promise<{ email: string; proof: RequiredProof }>;
}

type Settings = Awaited<ReturnType<typeof readSettings>>;

/** Thrown when a registration must have no effect. Rolls back the transaction. */
class Refusal extends Error {}

/** Pending registrations per address. Any further one replaces the oldest, so that an attacker cannot prevent the owner from registering. */
const maxPending = 100;

/** The error for a link that was used, or that became void through another registration, a deletion or a change of status. */
const voidLink = (claims: LinkClaims) =>
  invalidPayload('This link has already been used or is no longer valid').concerning(claims.id);

export function createRegistration({
  config,
  db,
  clock,
  mail,
  linkTokens,
  passwords,
  passwordRules,
  lockouts,
  requestMail,
  activity,
  log,
}: Services): Registration {
  const { USER_REGISTER_URL_ALLOW_LIST: allowList } = config;
  const { EMAIL_VERIFICATION_TOKEN_TTL: linkLifetime, REGISTRATION_ANSWER_TIME: answerAfter } = config;
  const onRefusal = (reason: string) => log.info({ reason }, 'a registration had no effect');

  const isPasswordAcceptable = async (
    { password, email, firstName, lastName }: NewRegistration,
    client: Client,
  ): Promise<boolean> => {
    try {
      await passwordRules.check([{ password, ownTexts: [email, firstName, lastName] }], { userId: null, client });
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.code !== 'SERVICE_UNAVAILABLE') return false;
      throw error;
    }
  };

  /** Adds a pending registration, which waits until the address is verified. */
  const addPending = async (
    tx: Executor,
    user: string,
    registration: NewRegistration,
    password: string,
    requestedFrom: string,
  ) => {
    const { firstName, lastName, browserHash, url = null } = registration;
    const createdAt = clock();
    const expiresAt = new Date(createdAt.getTime() + linkLifetime);
    const pending = { user, password, firstName, lastName, browserHash, url, createdAt, expiresAt };
    const id = await insertRegistration(tx, pending, maxPending);
    await mail.enqueue(tx, { kind: 'registration', user, registration: id, requestedFrom });
  };

  /** @throws {Refusal} when the address of the user does not match the filter in the settings */
  const requireFilterMatch = async (tx: Executor, id: string, settings: Settings) => {
    const isMatch = await matchesRegistrationFilter(tx, id, settings.public_registration_email_filter);
    if (!isMatch) throw new Refusal('the address does not match the filter in the settings');
  };

  /** Deletes a user who existed only because of registrations that have expired. @returns whether the user was deleted */
  const endExpired = async (tx: Executor, user: Recipient, client: Client) => {
    const deleted = await deleteUsersWithoutRegistrations(tx, [user.id], clock());
    const events = deleted.map((item) => ({ action: 'delete', collection: 'users', item }) as const);
    await activity.record(tx, { userId: null, client }, events);
    return deleted.length === 1;
  };

  /**
   * @param isLast whether this is the last attempt
   * @returns the id of the user who registers; null: the address already has an account, whose user is notified
   */
  const createOrJoin = async (
    tx: Executor,
    settings: Settings,
    registration: NewRegistration,
    password: string,
    client: Client,
    isLast = false,
  ): Promise<string | null> => {
    const requestedFrom = client.network;
    const { email, firstName, lastName } = registration;
    const mustVerify = settings.public_registration_verify_email;
    const role = settings.public_registration_role;
    const id = randomUUID();
    // Until the address is verified, the row contains no other data from the registration.
    const isNew = await insertAccount(tx, {
      id,
      email,
      role,
      createdAt: clock(),
      ...(mustVerify
        ? { status: 'unverified', isFromRegistration: true }
        : { status: 'active', password, firstName, lastName }),
    });
    if (isNew) {
      await requireFilterMatch(tx, id, settings);
      if (mustVerify) await addPending(tx, id, registration, password, requestedFrom);
      return id;
    }
    const known = await lockRecipientByEmail(tx, email);
    if (known?.status === 'active') {
      await mail.enqueue(tx, { kind: 'account_exists', user: known.id, requestedFrom });
      return null;
    }
    const isFree = !known || (known.isUnclaimed && (await endExpired(tx, known, client)));
    if (isFree && !isLast) return createOrJoin(tx, settings, registration, password, client, true);
    if (!known || !isApplicable.registration(known)) throw new Refusal('the address is taken');
    await requireFilterMatch(tx, known.id, settings);
    // The account receives the role that the settings name now, whichever of its registrations is verified.
    if (known.isUnclaimed) await writeRegistrationRole(tx, known.id, role);
    // This also applies if the settings no longer require verification, because another person may have registered the address before.
    await addPending(tx, known.id, registration, password, requestedFrom);
    return known.id;
  };

  const attempt = async (registration: NewRegistration, client: Client): Promise<void> => {
    const origin = { userId: null, client };
    const event = { action: 'register', collection: 'users' } as const;
    const settings = await readSettings(db);
    try {
      if (!settings.public_registration) throw new Refusal('registration is turned off');
      const isAcceptable = await isPasswordAcceptable(registration, client);
      // Hashing is most of the work, so it runs even if the password is rejected. This keeps the timing the same.
      const hash = await passwords.hash(registration.password, origin);
      if (!isAcceptable) throw new Refusal('the password is not acceptable');
      const item = await db.transaction(async (tx) => {
        const user = await createOrJoin(tx, settings, registration, hash, client);
        if (user !== null) await activity.record(tx, origin, [{ ...event, item: user }]);
        return user;
      });
      if (item === null) throw new Refusal('the address has an account');
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      onRefusal(error.message);
      await activity.recordRefusal(origin, event, null);
    }
  };

  /** The pending registration that a link belongs to. @throws {ApiError} INVALID_PAYLOAD */
  const pendingOf = async (executor: Executor, claims: LinkClaims, user: Recipient | undefined) => {
    if (!user || !isApplicable.registration(user)) throw voidLink(claims);
    const all = await readRegistrations(executor, user.id, clock());
    const pending = all.find((one) => linkTokens.matchesState(claims, stateOfRegistration(user, one.id)));
    if (!pending) throw voidLink(claims);
    return pending;
  };

  /** @param choose selects the password and the names for the account */
  const activate = async (
    claims: LinkClaims,
    client: Client,
    choose: (pending: PendingRegistration) => Pick<PendingRegistration, 'password' | 'firstName' | 'lastName'>,
  ) => {
    await db.transaction(async (tx) => {
      const user = await lockRecipient(tx, claims.id);
      const pending = await pendingOf(tx, claims, user);
      const { password, firstName, lastName } = choose(pending);
      await activateRegistered(tx, { user: claims.id, password, firstName, lastName, verifiedAt: clock() });
      await lockouts.clearAttempts(tx, user as Recipient, client);
      const events = [{ action: 'email_verified', collection: 'users', item: claims.id } as const];
      await activity.record(tx, { userId: claims.id, client }, events);
    });
  };

  const isOfBrowser = ({ browserHash }: PendingRegistration, hashes: readonly string[]) =>
    browserHash !== null && hashes.includes(browserHash);

  const resend: Registration['resend'] = (email, client) =>
    requestMail(email, client, (origin) =>
      db.transaction(async (tx) => {
        // The service looks up the user with this address, if there is one, when it sends the email.
        await mail.enqueue(tx, { ...origin, kind: 'registration', email });
        await activity.record(tx, { userId: null, client }, [{ action: 'verification_resend', collection: 'users' }]);
      }),
    );

  return {
    register: async (registration, client) => {
      requireAllowedUrl('verification_url', registration.url, allowList);
      await padResponseTime(answerAfter, () => attempt(registration, client));
    },

    sendAgain: async (token, client) => {
      const claims = linkTokens.readExpired(token, scopeOf.registration);
      const user = await findRecipient(db, claims.id);
      if (user?.email && isApplicable.registration(user)) await resend(user.email, client);
    },

    resend,

    verify: async (token, client) => {
      const claims = linkTokens.read(token, scopeOf.registration);
      await activate(claims, client, (pending) => pending);
    },

    confirm: async (token, password, browserHashes, client) => {
      const claims = linkTokens.read(token, scopeOf.registration);
      const user = await findRecipient(db, claims.id);
      const pending = await pendingOf(db, claims, user);
      if (password === undefined) {
        if (!isOfBrowser(pending, browserHashes)) {
          throw invalidPayload('password is required, except in the browser in which you registered').concerning(
            claims.id,
          );
        }
        return activate(claims, client, (own) => own);
      }
      const { firstName, lastName } = pending;
      const from = { userId: claims.id, client };
      await passwordRules.check([{ password, ownTexts: [user?.email, firstName, lastName] }], from);
      const isOwn = await passwords.verify(pending.password, password, from);
      if (isOwn) return activate(claims, client, (own) => own);
      // Someone who does not know the password of the registration may not be the person who entered its names.
      const keepsNames = isOfBrowser(pending, browserHashes);
      const hash = await passwords.hash(password, from);
      return activate(claims, client, (own) =>
        keepsNames ? { ...own, password: hash } : { password: hash, firstName: null, lastName: null },
      );
    },

    inspect: async (token, browserHashes) => {
      const claims = linkTokens.read(token, scopeOf.registration);
      const user = await findRecipient(db, claims.id);
      const pending = await pendingOf(db, claims, user);
      return { email: user?.email ?? '', proof: isOfBrowser(pending, browserHashes) ? 'none' : 'password' };
    },
  };
}
