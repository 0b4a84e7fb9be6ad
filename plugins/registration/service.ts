import { randomUUID } from 'node:crypto';
import type { Executor } from '../../db/client.js';
import { activate, insertAccount, lockRecipient, lockRecipientByEmail } from '../../db/queries/recipients.js';
import { readSettings } from '../../db/queries/settings.js';
import { matchingKeys } from '../../db/queries/writes.js';
import { seesAll } from '../../db/query-language/access-view.js';
import { collections } from '../../db/query-language/collections.js';
import { ApiError } from '../../schemas/errors.js';
import { ruleOf } from '../access/write-grants.js';
import type { Activity } from '../activity/service.js';
import type { Client } from '../client.js';
import { invalidPayload } from '../items/payload.js';
import type { Mail } from '../mail/index.js';
import { isDue, scopeOf, stateOf } from '../mail/recipients.js';
import type { PasswordRules } from '../password-rules/service.js';
import type { Passwords } from '../passwords/service.js';
import type { RateLimits } from '../rate-limits/service.js';
import type { LinkTokens } from '../tokens/link-tokens.js';
import { requireAllowedUrl } from '../urls.js';
import { inEvenTime } from './even-time.js';

export interface NewRegistration {
  email: string;
  password: string;
  firstName: string | null;
  lastName: string | null;
  /** Where the link is to lead. */
  url: string | undefined;
}

export interface Registration {
  /**
   * Makes a user of a stranger, if the settings allow it, and has a mail sent to verify the address. Whatever comes of
   * it, the answer and its time are the same (contract 2.15).
   * @throws {ApiError} INVALID_PAYLOAD when the URL is not allow-listed; REQUESTS_EXCEEDED
   */
  register(registration: NewRegistration, client: Client): Promise<void>;
  /**
   * Makes the user of a verified address active.
   * @throws {ApiError} INVALID_TOKEN, TOKEN_EXPIRED; FORBIDDEN for a token of another kind; INVALID_PAYLOAD when it was used or is void
   */
  verify(token: string, client: Client): Promise<void>;
}

type Settings = Awaited<ReturnType<typeof readSettings>>;

/** Why a registration comes to nothing; ends its transaction. */
class Refusal extends Error {}

const nobody = { now: new Date(0), user: null, role: null, roles: [], policies: [] };

export function createRegistration(deps: {
  db: Executor;
  mail: Pick<Mail, 'enqueue'>;
  linkTokens: LinkTokens;
  passwords: Passwords;
  passwordRules: PasswordRules;
  rateLimits: Pick<RateLimits, 'requireRegistration' | 'mayMail'>;
  activity: Activity;
  defaultUrl: string;
  allowList: readonly string[];
  /** Milliseconds. */
  answerAfter: number;
  onRefusal(reason: string): void;
}): Registration {
  const { db, mail, linkTokens, passwords, passwordRules, rateLimits, activity } = deps;
  const { defaultUrl, allowList, answerAfter, onRefusal } = deps;

  const isGood = async (password: string): Promise<boolean> => {
    try {
      await passwordRules.check([password]);
      return true;
    } catch (error) {
      if (error instanceof ApiError) return false;
      throw error;
    }
  };

  /** @returns who it is that registers */
  const admit = async (tx: Executor, settings: Settings, registration: NewRegistration, password: string) => {
    const { email, firstName, lastName, url } = registration;
    const mustVerify = settings.public_registration_verify_email;
    const id = randomUUID();
    const status = mustVerify ? 'unverified' : 'active';
    const role = settings.public_registration_role;
    const isNew = await insertAccount(tx, { id, email, firstName, lastName, status, role, password });
    const user = isNew ? id : await waitingUser(tx, email);
    if (isNew) await requireWanted(tx, id, settings.public_registration_email_filter);
    // Who was to verify the address must still, though nobody else has to by now: it may be another who registers.
    if (mustVerify || !isNew) await mail.enqueue(tx, { kind: 'registration', user, url: url ?? defaultUrl });
    return user;
  };

  const attempt = async (registration: NewRegistration, client: Client): Promise<void> => {
    const origin = { userId: null, client };
    const event = { action: 'register', collection: 'users' } as const;
    const settings = await readSettings(db);
    const isAcceptable = await isGood(registration.password);
    // Also for nothing: it is most of the work.
    const hash = await passwords.hash(registration.password);
    try {
      if (!settings.public_registration) throw new Refusal('registration is switched off');
      if (!isAcceptable) throw new Refusal('the password is not acceptable');
      if (!(await rateLimits.mayMail(registration.email, client.network)))
        throw new Refusal('too many mails were asked for');
      await db.transaction(async (tx) => {
        const item = await admit(tx, settings, registration, hash);
        await activity.record(tx, origin, [{ ...event, item }]);
      });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      onRefusal(error.message);
      await activity.refuse(origin, event, null);
    }
  };

  return {
    register: async (registration, client) => {
      requireAllowedUrl('verification_url', registration.url, allowList);
      await rateLimits.requireRegistration(client.network);
      await inEvenTime(answerAfter, () => attempt(registration, client));
    },

    verify: async (token, client) => {
      const claims = linkTokens.read(token, scopeOf.registration);
      await db.transaction(async (tx) => {
        const user = await lockRecipient(tx, claims.id);
        if (!user || !isDue.registration(user) || !linkTokens.isFor(claims, stateOf(user))) {
          throw invalidPayload('This link has been used, or is void').concerning(claims.id);
        }
        await activate(tx, claims.id, null);
        const events = [{ action: 'email_verified', collection: 'users', item: claims.id } as const];
        await activity.record(tx, { userId: claims.id, client }, events);
      });
    },
  };
}

/** Who registers again before the address is verified gets the mail again, and keeps the first password. */
async function waitingUser(tx: Executor, email: string): Promise<string> {
  const known = await lockRecipientByEmail(tx, email);
  if (!known || !isDue.registration(known)) throw new Refusal('the address is taken');
  return known.id;
}

/** The filter of the settings is put to the new row like any other. */
async function requireWanted(tx: Executor, id: string, stored: Record<string, unknown> | null): Promise<void> {
  const filter = ruleOf(stored, 'users', nobody);
  if (filter === null) return;
  const matching = await matchingKeys(tx, collections.users, [id], [filter], seesAll);
  if (matching.size === 0) throw new Refusal('the address does not pass the filter of the settings');
}
