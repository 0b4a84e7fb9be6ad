import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const cookieName = 'gatehouse_mailbox';

export interface MailboxAccess {
  /** The key that gives access to the mailbox. */
  readonly key: string;
  readonly cookieName: string;
  /** The cookie value that a browser gets in exchange for the key. It does not reveal the key, and it changes with the key. */
  readonly cookie: string;
  isKey(value: unknown): boolean;
  /** @param header the Cookie header. If there are several cookies with this name, one correct cookie is enough. */
  hasCookie(header: string | undefined): boolean;
}

/**
 * Controls which readers other than administrators can open the mailbox. Access needs a key, because the links in the emails give
 * access to accounts. Neither an IP address nor a Host header proves that a request comes from this machine, because a proxy may
 * have sent it.
 * @param given MAILBOX_KEY; undefined: the service generates a key at each start
 */
export function createMailboxAccess(given: string | undefined): MailboxAccess {
  const key = given ?? randomBytes(24).toString('base64url');
  const cookie = createHmac('sha256', key).update('cookie of the mailbox').digest('base64url');
  return {
    key,
    cookieName,
    cookie,
    isKey: (value) => typeof value === 'string' && isSame(value, key),
    hasCookie: (header) => valuesOf(header).some((value) => isSame(value, cookie)),
  };
}

const digest = (text: string) => createHash('sha256').update(text).digest();

/** Compares in a time that does not depend on the position of a difference or on the lengths. */
const isSame = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));

const valuesOf = (header = ''): string[] =>
  header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${cookieName}=`))
    .map((pair) => pair.slice(cookieName.length + 1));
