import { createHash } from 'node:crypto';
import { accountKey } from '../account-key.js';
import type { Clock } from '../clock.js';
import { requestsExceeded } from '../requests-exceeded.js';
import type { Count, Counters } from './counters.js';

/** So many in so many milliseconds. */
export interface Rule {
  points: number;
  window: number;
}

/** What is limited besides requests as such; null: that is switched off. */
export interface Rules {
  /** By address. */
  registrations: Rule | null;
  /** Attempts to log in to accounts that nobody has logged in to from there: by address, for all accounts together. */
  strangersLogins: Rule | null;
  /** Mails that somebody has sent who has proved nothing. */
  mails: { ofAddress: Rule; toMailbox: Rule } | null;
  /** Mails that tell users of what they did to their own account: by mailbox. */
  notices: Rule | null;
  /** Refusals that are recorded one by one: by address. */
  recordedRefusals: Rule | null;
}

export interface RateLimits {
  /** Counts a registration. @throws {ApiError} REQUESTS_EXCEEDED */
  requireRegistration(network: string): Promise<void>;
  /** Counts an attempt to log in. @throws {ApiError} REQUESTS_EXCEEDED */
  requireStrangersLogin(network: string): Promise<void>;
  /** Counts a mail, and says whether it may be sent: nobody's mailbox is to be filled by strangers. */
  mayMail(mailbox: string, network: string): Promise<boolean>;
  /**
   * Counts a notice to a user of what they did themselves, and says whether it may be sent: anybody can give a stranger's
   * address for their own, and change their password all day. Apart from other mails, lest those be used to keep it away.
   */
  mayNotify(mailbox: string): Promise<boolean>;
  /**
   * Counts a refusal that is to be recorded, so that no flood of them fills the disk.
   * @returns 'first omitted' for the one with which the limit is passed: that it was is worth a record of its own
   */
  mayRecordRefusal(network: string): Promise<'yes' | 'first omitted' | 'no'>;
}

export function createRateLimits({ count, clock, rules }: { count: Counters; clock: Clock; rules: Rules }): RateLimits {
  const requireWithin = async (kind: string, key: string, rule: Rule | null) => {
    if (rule === null) return;
    const taken = await count(kind, key, rule.window);
    if (isExceeded(taken, rule)) throw requestsExceeded(rule.points, taken.ttl, clock());
  };

  return {
    requireRegistration: (network) => requireWithin('registrations', network, rules.registrations),

    requireStrangersLogin: (network) => requireWithin('logins', network, rules.strangersLogins),

    mayMail: async (mailbox, network) => {
      if (rules.mails === null) return true;
      const { ofAddress, toMailbox } = rules.mails;
      // In this order: who has sent too many already cannot use up what others may send to a mailbox.
      if (isExceeded(await count('mails-of', network, ofAddress.window), ofAddress)) return false;
      return !isExceeded(await count('mails-to', mailboxKey(mailbox), toMailbox.window), toMailbox);
    },

    mayNotify: async (mailbox) => {
      const rule = rules.notices;
      return rule === null || !isExceeded(await count('notices', mailboxKey(mailbox), rule.window), rule);
    },

    mayRecordRefusal: async (network) => {
      const rule = rules.recordedRefusals;
      if (rule === null) return 'yes';
      const taken = await count('refusals', network, rule.window);
      if (!isExceeded(taken, rule)) return 'yes';
      return taken.current === rule.points + 1 ? 'first omitted' : 'no';
    },
  };
}

const isExceeded = ({ current }: Count, { points }: Rule): boolean => current > points;

/** A mailbox is the same whatever follows `+` in its name. Hashed: what strangers type is not kept in Redis. */
function mailboxKey(email: string): string {
  const [, name = '', domain = ''] = /^([^@+]*)[^@]*@(.*)$/.exec(accountKey(email)) ?? [];
  return createHash('sha256').update(`${name}@${domain}`).digest('base64url');
}
