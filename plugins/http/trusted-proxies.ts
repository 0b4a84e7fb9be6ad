import { isIP, SocketAddress } from 'node:net';
import type { Config } from '../../schemas/config.js';
import { matchRanges } from '../../schemas/ip-ranges.js';

/** Whether a proxy's information about a request is trusted. `hop` is 0 for the peer of the connection, 1 for the one before it. */
export type TrustsProxy = (address: string, hop: number) => boolean;

const namedRanges: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/** Converts TRUST_PROXY into a check. */
export function trustsProxyOf(setting: Config['TRUST_PROXY']): TrustsProxy {
  if (typeof setting === 'boolean') return () => setting;
  if (typeof setting === 'number') return (_address, hop) => hop < setting;
  const names = setting.split(',').map((part) => part.trim());
  const isTrusted = matchRanges(names.flatMap((name) => namedRanges[name] ?? [name]));
  return (entry) => isTrusted(bareAddress(entry));
}

/** `[2001:db8::1]:443` and `203.0.113.7:51234`; RFC 7239 also allows a name in place of the port. */
const withPort = /^(?:\[([^\]]*)\]|([\d.]+))(?::(?:\d{0,5}|_[\w.-]+))?$/;

/**
 * The IP address in an entry of X-Forwarded-For. Some proxies add the port of the client (Azure Application Gateway), brackets, or
 * quotes. The address has one form, whatever the notation: without a zone (`fe80::1%eth0`, RFC 4007), which is meaningful only on its
 * own host and can have any length, and an IPv4-mapped address as IPv4.
 * @returns null if the entry is not an address, such as `unknown`
 */
export function bareAddress(entry: string): string | null {
  const text = entry.trim().replace(/^"(.*)"$/, '$1');
  const [, inBrackets, withoutBrackets] = withPort.exec(text) ?? [];
  const [address = ''] = (inBrackets ?? withoutBrackets ?? text).split('%', 1);
  const family = isIP(address);
  if (family === 0) return null;
  if (family === 4) return address;
  const canonical = new SocketAddress({ address, family: 'ipv6' }).address;
  return canonical.replace(/^::ffff:(?=[\d.]+$)/, '');
}
