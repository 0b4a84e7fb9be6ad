import { BlockList, isIP } from 'node:net';
import type { PolicyRecord, PrincipalRecord } from '../../db/queries/principals.js';

/** What a user may do, summed up over the policies that count for this request. */
export interface Rights {
  /** Everything is allowed. */
  admin: boolean;
  /** May read their own user and role. */
  app: boolean;
  /** Must set up two-factor authentication before anything else. */
  mustSetUpTfa: boolean;
  policies: readonly PolicyRecord[];
}

/** Sums up the policies of a user (contract 5). A policy with `ip_access` counts only for addresses in its ranges. */
export function rightsOf(principal: Pick<PrincipalRecord, 'has_tfa' | 'policies'>, ip: string | null): Rights {
  const policies = principal.policies.filter((policy) => policy.ip_access === null || isInRanges(ip, policy.ip_access));
  return {
    admin: policies.some((policy) => policy.admin_access),
    app: policies.some((policy) => policy.app_access),
    mustSetUpTfa: !principal.has_tfa && policies.some((policy) => policy.enforce_tfa),
    policies,
  };
}

/** Whether an address is in one of the CIDR ranges. What cannot be read matches nothing: a policy is dropped, never gained. */
function isInRanges(ip: string | null, ranges: readonly string[]): boolean {
  const family = ip === null ? 0 : isIP(ip);
  if (ip === null || family === 0) return false;
  const list = new BlockList();
  for (const range of ranges) {
    const [network = '', prefix, ...rest] = range.split('/');
    const version = isIP(network);
    const longest = version === 4 ? 32 : 128;
    // Digits only: `Number` would take an empty prefix for 0, which is the whole internet.
    if (version === 0 || rest.length > 0 || !/^\d{1,3}$/.test(prefix ?? `${longest}`)) continue;
    const bits = Number(prefix ?? longest);
    if (bits <= longest) list.addSubnet(network, bits, version === 4 ? 'ipv4' : 'ipv6');
  }
  return list.check(ip, family === 4 ? 'ipv4' : 'ipv6');
}
