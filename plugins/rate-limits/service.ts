import { createHash } from 'node:crypto';
import type { ApiError } from '../../schemas/errors.js';
import { normalizeEmail, siteOf } from '../http/caller.js';
import type { Clock } from '../platform/clock.js';
import type { Count, Counters } from './counters.js';
import { requestsExceeded } from './requests-exceeded.js';

/** At most `points` in a `window` of milliseconds. */
export interface Rule {
  points: number;
  window: number;
}

/** A group of routes that have their own limit, in addition to the general one on requests. */
export type RateClass = 'registration' | 'password check' | 'export' | 'list export' | 'reference';

/** All limits except the general one on requests. Null means that the limit is off. */
export interface Rules {
  /** Requests to the routes of a class: by user if the route requires one, otherwise by address. */
  routes: Record<RateClass, Rule | null>;
  /** By address, for all accounts together: wrong passwords, and any password for an account that has not logged in from it before. */
  addressLogins: Rule | null;
  /** Emails that anyone can request. Requests are counted by network; sent emails by kind and network, and by kind and stored address. */
  mails: { requests: Rule; fromNetwork: Rule; toMailbox: Rule } | null;
  /** Emails that notify users of their own changes to their account: by mailbox. */
  notices: Rule | null;
  /** Emails that notify a user of a suspicious sign-in: by kind and user. */
  alerts: Rule;
  /** Refusals that are recorded individually in the audit log: by address. */
  recordedRefusals: Rule | null;
}

/** Whether something is within its limit. The first event over the limit is distinguished, because it is recorded as such. */
export type Admission = 'yes' | 'first over' | 'no';

export interface RateLimits {
  /**
   * Counts a request to a route of this class.
   * @param key the user, or the network of an anonymous caller
   * @throws {ApiError} REQUESTS_EXCEEDED
   */
  enforceRateLimit(rateClass: RateClass, key: string): Promise<void>;
  /**
   * Counts a login attempt against the limit of its address.
   * @returns REQUESTS_EXCEEDED, identical for every attempt from this address, once there are too many; otherwise null
   */
  countLogin(network: string): Promise<ApiError | null>;
  /**
   * Counts a request for an email, and says whether it is within the limit of its network. Beyond the limit, accept requests only for
   * users who have logged in from there (`isFamiliarOrigin`), so that an attacker on the same network does not block the owner.
   * @returns 'first over' for the first request over the limit, which the caller lists as such
   */
  admitMailRequest(network: string): Promise<Admission>;
  /**
   * Counts an email of a kind that anyone can request, before it is sent.
   * @param mail.to the stored address
   * @param mail.network the network of the requester; null if the user has logged in before from it or from the browser. Such emails
   *   have a limit of their own for each address, which requests from elsewhere cannot use up, and none for the network.
   * @returns the limit that the email exceeds; null: it may be sent
   */
  exceededByMail(mail: { kind: string; to: string; network: string | null }): Promise<'network' | 'mailbox' | null>;
  /**
   * Counts an email that notifies a user of their own change, and says whether it may be sent. A limit is necessary because anyone
   * can register the address of another person, and then change the password all day. The count is separate from that of other
   * emails, so that these cannot be used to suppress a notice.
   */
  mayNotify(mailbox: string): Promise<boolean>;
  /** Counts an email about a suspicious sign-in, which attackers can cause, and says whether it may be sent. */
  mayAlert(kind: string, user: string): Promise<boolean>;
  /**
   * Counts a refusal before it is recorded, so that a flood of refusals does not fill the disk.
   * @returns 'first over' for the first refusal over the limit, which the caller records as such
   */
  admitRefusal(network: string): Promise<Admission>;
}

/** How many times as much as a network an IPv6 /48 may do. One of its networks can use up only its own part of this. */
export const networksPerSite = 50;

export function createRateLimits({ count, clock, rules }: { count: Counters; clock: Clock; rules: Rules }): RateLimits {
  /** Counts something for a network and, if the network is within its limit, for its /48. @returns the count over the limit, or null */
  const overLimit = async (
    kind: string,
    network: string,
    rule: Rule,
  ): Promise<(Count & { isFirst: boolean }) | null> => {
    const exceeded = (taken: Count, points: number) =>
      taken.current > points ? { ...taken, isFirst: taken.current === points + 1 } : null;
    const over = exceeded(await count(kind, network, rule.window), rule.points);
    const site = siteOf(network);
    if (over || site === network) return over;
    return exceeded(await count(`${kind}-of-sites`, site, rule.window), rule.points * networksPerSite);
  };

  const exceededBy = async (kind: string, key: string, rule: Rule | null): Promise<ApiError | null> => {
    const over = rule && (await overLimit(kind, key, rule));
    return over && requestsExceeded(rule.points, over.ttl, clock());
  };

  const admit = async (kind: string, network: string, rule: Rule | null | undefined): Promise<Admission> => {
    const over = rule ? await overLimit(kind, network, rule) : null;
    if (!over) return 'yes';
    return over.isFirst ? 'first over' : 'no';
  };

  return {
    enforceRateLimit: async (rateClass, key) => {
      const exceeded = await exceededBy(rateClass, key, rules.routes[rateClass]);
      if (exceeded) throw exceeded;
    },

    countLogin: (network) => exceededBy('logins', network, rules.addressLogins),

    admitMailRequest: (network) => admit('mail-requests', network, rules.mails?.requests),

    exceededByMail: async ({ kind, to, network }) => {
      if (rules.mails === null) return null;
      const { fromNetwork, toMailbox } = rules.mails;
      // The network comes first: one that is over its limit must not use up the limit of the mailbox.
      if (network !== null && (await overLimit(`${kind}-mails-of`, network, fromNetwork))) return 'network';
      const counted = network === null ? `${kind}-mails-to-familiar` : `${kind}-mails-to`;
      return isExceeded(await count(counted, addressKey(to), toMailbox.window), toMailbox) ? 'mailbox' : null;
    },

    mayNotify: async (mailbox) => {
      const rule = rules.notices;
      return rule === null || !isExceeded(await count('notices', addressKey(mailbox), rule.window), rule);
    },

    mayAlert: async (kind, user) => !isExceeded(await count(`${kind}-alerts`, user, rules.alerts.window), rules.alerts),

    admitRefusal: (network) => admit('refusals', network, rules.recordedRefusals),
  };
}

const isExceeded = ({ current }: Count, { points }: Rule): boolean => current > points;

/** The key of a stored address, the same in any letter case. It is hashed, so that Redis contains no addresses. */
const addressKey = (email: string): string => createHash('sha256').update(normalizeEmail(email)).digest('base64url');
