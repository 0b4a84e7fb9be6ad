import { isIP } from 'node:net';

/** What of a request tells whether it comes from the machine itself. */
export interface Visitor {
  ip: string | null;
  /** The Host header. */
  host: string | undefined;
  /** Whether a proxy says that it passes the request on for somebody else. */
  isForwarded: boolean;
}

/**
 * Whether people use the service by a name of this machine only. When it is known by another, a proxy is in front of it
 * that may be on this machine too, and need not say for whom it asks.
 */
export const isLocalService = (publicUrl: string): boolean => isLoopback(nameOf(new URL(publicUrl).host));

/**
 * Whether somebody sits at this machine. The links in the mailbox open accounts, so nobody else in the network may read
 * it: neither through a proxy, nor by a page that has its own name lead here (DNS rebinding).
 */
export const isAtThisMachine = ({ ip, host, isForwarded }: Visitor): boolean =>
  !isForwarded && ip !== null && isLoopback(ip) && host !== undefined && isLoopback(nameOf(host));

const isLoopback = (name: string): boolean =>
  name === 'localhost' ||
  name === '::1' ||
  name === '::ffff:127.0.0.1' ||
  (isIP(name) === 4 && name.startsWith('127.'));

/** The host without its port, and without the brackets of an IPv6 address. */
const nameOf = (host: string): string =>
  host
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase();
