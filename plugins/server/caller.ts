import { BlockList, isIP } from 'node:net';
import type { PolicyRecord, PrincipalRecord } from '../../db/queries/access/principals.js';

import type { Item } from '../../db/queries/items/items.js';
import type { Client } from './client-info.js';

/** What a user may do, combined from all policies that apply to this request. */
export interface Rights {
  /** Everything is allowed. */
  admin: boolean;
  /** May read their own user and role. */
  app: boolean;
  /** Must set up two-factor authentication before anything else. */
  mustSetUpTfa: boolean;
  policies: readonly PolicyRecord[];
}

/** The caller and their rights, read from the database for this request only. */
export interface Caller extends Rights {
  /** Null for an anonymous caller. */
  userId: string | null;
  role: string | null;
  roles: readonly string[];
  /** The session of the token; null without one. */
  sessionId: string | null;
  /** When the user last proved their identity in that session, in milliseconds since 1970; null without one. */
  authenticatedAt: number | null;
  client: Client;
}

/** An authenticated caller. */
export interface Principal extends Caller {
  userId: string;
  /** Milliseconds since 1970. */
  lastAccess: number | null;
  /** The user's own row, if the route requested it and the caller may read all of it. */
  ownRow: Item | undefined;
  /** The last recorded use of the session, in milliseconds since 1970; null without a session. */
  sessionLastUsed: number | null;
}

/** Combines the policies of a user. A policy with `ip_access` applies only to addresses in its ranges. */
export function rightsOf(principal: Pick<PrincipalRecord, 'has_tfa' | 'policies'>, ip: string | null): Rights {
  const policies = principal.policies.filter((policy) => policy.ip_access === null || isInRanges(ip, policy.ip_access));
  return {
    admin: policies.some((policy) => policy.admin_access),
    app: policies.some((policy) => policy.app_access),
    mustSetUpTfa: !principal.has_tfa && policies.some((policy) => policy.enforce_tfa),
    policies,
  };
}

/** Whether an address is in one of the CIDR ranges. A malformed range matches nothing, so it can never grant a policy. */
function isInRanges(ip: string | null, ranges: readonly string[]): boolean {
  const family = ip === null ? 0 : isIP(ip);
  if (ip === null || family === 0) return false;
  const list = new BlockList();
  for (const range of ranges) {
    const [network = '', prefix, ...rest] = range.split('/');
    const version = isIP(network);
    const addressBits = version === 4 ? 32 : 128;
    // Digits only: `Number` would read an empty prefix as 0, which is the whole internet.
    if (version === 0 || rest.length > 0 || !/^\d{1,3}$/.test(prefix ?? `${addressBits}`)) continue;
    const bits = Number(prefix ?? addressBits);
    if (bits <= addressBits) list.addSubnet(network, bits, version === 4 ? 'ipv4' : 'ipv6');
  }
  return list.check(ip, family === 4 ? 'ipv4' : 'ipv6');
}
