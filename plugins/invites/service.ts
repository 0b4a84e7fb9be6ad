import { randomUUID } from 'node:crypto';
import type { Executor } from '../../db/client.js';
import {
  activate,
  findRecipient,
  insertAccount,
  lockRecipient,
  lockRecipientByEmail,
  type Recipient,
  writeRole,
} from '../../db/queries/recipients.js';
import { existingKeys } from '../../db/queries/writes.js';
import { collections } from '../../db/query-language/collections.js';
import { transact } from '../../db/transact.js';
import { ApiError } from '../../schemas/errors.js';
import type { LinkTokenClaims } from '../../schemas/link-tokens.js';
import { requireRightsOver } from '../access/account-rights.js';
import type { Caller } from '../access/service.js';
import { variablesOf } from '../access/view.js';
import { writeGrantsOf } from '../access/write-grants.js';
import type { Activity } from '../activity/service.js';
import type { Client } from '../client.js';
import type { Clock } from '../clock.js';
import { invalidPayload } from '../items/payload.js';
import type { Mail } from '../mail/index.js';
import { isDue, scopeOf, stateOf } from '../mail/recipients.js';
import type { PasswordChecks } from '../password-checks/service.js';
import type { PasswordRules } from '../password-rules/service.js';
import type { Passwords } from '../passwords/service.js';
import type { LinkTokens } from '../tokens/link-tokens.js';
import { requireAllowedUrl } from '../urls.js';

export interface Invitation {
  emails: readonly string[];
  role: string;
  /** Where the link is to lead. */
  url: string | undefined;
}

export interface Invites {
  /**
   * Makes a user of each address that nobody has, and has an invitation sent; to who is invited already it is sent
   * again, with the new role. Nothing happens to anybody else (contract 2.12). All of them, or none.
   * @throws {ApiError} FORBIDDEN, INVALID_PAYLOAD, INVALID_FOREIGN_KEY
   */
  invite(caller: Caller, invitation: Invitation): Promise<void>;
  /**
   * Makes an invited user active, with this password.
   * @throws {ApiError} INVALID_TOKEN, TOKEN_EXPIRED; FORBIDDEN for a token of another kind; INVALID_INVITE when it was used or is void; FAILED_VALIDATION
   */
  accept(token: string, password: string, client: Client): Promise<void>;
}

const written = ['email', 'role', 'status'];

export function createInvites(deps: {
  db: Executor;
  clock: Clock;
  mail: Pick<Mail, 'enqueue'>;
  linkTokens: LinkTokens;
  passwords: Passwords;
  passwordRules: PasswordRules;
  passwordChecks: Pick<PasswordChecks, 'forgive'>;
  activity: Pick<Activity, 'record'>;
  defaultUrl: string;
  allowList: readonly string[];
  maxBatch: number;
}): Invites {
  const { db, clock, mail, linkTokens, passwords, passwordRules, passwordChecks } = deps;
  const { activity, defaultUrl, allowList, maxBatch } = deps;

  /** A right to create users with an address, a role and a status; one that has conditions grants nothing here. */
  const requireRight = (caller: Caller) => {
    const grants = writeGrantsOf(caller, 'users', 'create', variablesOf(caller, clock()));
    const isGranted = grants.some(
      ({ fields, rule, validation }) =>
        rule === null && validation === null && (fields === '*' || written.every((field) => fields.has(field))),
    );
    if (!isGranted) throw new ApiError('FORBIDDEN');
  };

  /** The user who is to get a mail; null when nobody is. */
  const inviteOne = async (tx: Executor, email: string, role: string): Promise<string | null> => {
    const id = randomUUID();
    const isNew = await insertAccount(tx, { id, email, role, status: 'invited' });
    if (isNew) return id;
    const known = await lockRecipientByEmail(tx, email);
    if (!known || !isDue.invite(known)) return null;
    await writeRole(tx, known.id, role);
    return known.id;
  };

  const requireOpen = (claims: LinkTokenClaims, user: Recipient | undefined): Recipient => {
    if (!user || !isDue.invite(user) || !linkTokens.isFor(claims, stateOf(user))) {
      throw new ApiError('INVALID_INVITE').concerning(claims.id);
    }
    return user;
  };

  return {
    invite: async (caller, { emails, role, url }) => {
      requireAllowedUrl('invite_url', url, allowList);
      requireRight(caller);
      if (emails.length > maxBatch) throw invalidPayload(`At most ${maxBatch} users can be invited at once`);
      // In one order for everybody, so that two requests never wait for each other.
      const distinct = [...new Map(emails.toReversed().map((email) => [email.toLowerCase(), email]))].sort();
      await transact(db, async (tx) => {
        if ((await existingKeys(tx, collections.roles, [role])).size === 0) {
          throw new ApiError('INVALID_FOREIGN_KEY', { collection: 'users', field: 'role', value: role });
        }
        const invited: string[] = [];
        for (const [, email] of distinct) {
          const user = await inviteOne(tx, email, role);
          if (user === null) continue;
          invited.push(user);
          await mail.enqueue(tx, { kind: 'invite', user, url: url ?? defaultUrl });
        }
        // With the role that they have now: nobody hands out more than they have.
        if (!caller.admin) await requireRightsOver(tx, caller, new Set(invited), clock());
        await activity.record(
          tx,
          caller,
          invited.map((item) => ({ action: 'invite', collection: 'users', item, changed: written })),
        );
      });
    },

    accept: async (token, password, client) => {
      const claims = linkTokens.read(token, scopeOf.invite);
      requireOpen(claims, await findRecipient(db, claims.id));
      await passwordRules.check([password]);
      const hash = await passwords.hash(password);
      await db.transaction(async (tx) => {
        const user = requireOpen(claims, await lockRecipient(tx, claims.id));
        await activate(tx, user.id, hash);
        await passwordChecks.forgive(tx, user, client);
        const events = [{ action: 'invite_accept', collection: 'users', item: user.id } as const];
        await activity.record(tx, { userId: user.id, client }, events);
      });
    },
  };
}
