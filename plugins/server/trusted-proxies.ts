import { BlockList, isIP } from 'node:net';
import type { Config } from '../../schemas/config.js';

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
  const list = new BlockList();
  for (const name of setting.split(',').map((part) => part.trim())) {
    for (const range of namedRanges[name] ?? [name]) {
      const [network = '', prefix] = range.split('/');
      const isV4 = isIP(network) === 4;
      list.addSubnet(network, Number(prefix ?? (isV4 ? 32 : 128)), isV4 ? 'ipv4' : 'ipv6');
    }
  }
  return (address) => {
    const [withoutZone = ''] = address.split('%', 1);
    const family = isIP(withoutZone);
    return family !== 0 && list.check(withoutZone, family === 4 ? 'ipv4' : 'ipv6');
  };
}
