import { isIP } from 'node:net';
import { matchRanges } from '../../schemas/ip-ranges.js';

/** The IPv4 addresses that are not on the internet (IANA, Special-Purpose Address Registry), and that of Azure's metadata. */
const specialV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
];

/** The same for IPv6, where only 2000::/3 is on the internet. Tunnels that could end at a private IPv4 address are included. */
const specialV6 = ['::/3', '2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20', '4000::/2', '8000::/1'];

// Two checks, because one for both families would compare IPv4 addresses with the IPv6 ranges, too.
const isSpecialV4 = matchRanges(specialV4);
const isSpecialV6 = matchRanges(specialV6);
/** Networks without IPv4 reach IPv4 addresses under this prefix (NAT64, RFC 6052). */
const isNat64 = matchRanges(['64:ff9b::/96']);
const isSpecialBehindNat64 = matchRanges(
  specialV4.map((range) => {
    const [network, bits] = range.split('/');
    return `64:ff9b::${network}/${96 + Number(bits)}`;
  }),
);

/**
 * Whether an IP address is on the internet: neither this machine, nor a private network, nor a metadata service. Not a host name.
 * IPv4 addresses in the form of IPv6 addresses, such as `::ffff:1.1.1.1`, are never public.
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !isSpecialV4(address);
  if (family !== 6) return false;
  return !(isNat64(address) ? isSpecialBehindNat64 : isSpecialV6)(address);
}
