import { BlockList, type IPVersion, isIP } from 'node:net';

/** An IP address, or a range in CIDR notation. Null if the text is neither. */
function parseRange(range: string) {
  const [network = '', prefix, ...rest] = range.split('/');
  const version = isIP(network);
  const maxBits = version === 4 ? 32 : 128;
  // Digits only: `Number` would read an empty prefix as 0, which is the whole internet.
  const bits = prefix === undefined ? maxBits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  return version !== 0 && rest.length === 0 && bits <= maxBits ? { network, bits, family: familyOf(version) } : null;
}

const familyOf = (version: number): IPVersion => (version === 4 ? 'ipv4' : 'ipv6');

export const isIpRange = (range: string): boolean => parseRange(range) !== null;

/**
 * Returns a function that checks whether an address is in one of the ranges. A malformed range matches nothing, so it can never grant
 * anything. An IPv6 range also contains the IPv4 addresses that it contains in mapped form (`::ffff:192.0.2.1`).
 */
export function matchRanges(ranges: readonly string[]): (address: string | null) => boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const parsed = parseRange(range);
    if (parsed) list.addSubnet(parsed.network, parsed.bits, parsed.family);
  }
  return (address) => {
    const version = isIP(address ?? '');
    return address !== null && version !== 0 && list.check(address, familyOf(version));
  };
}
