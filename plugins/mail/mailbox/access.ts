import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const cookieName = 'gatehouse_mailbox';

export interface MailboxAccess {
  /** What opens the mailbox. */
  readonly key: string;
  readonly cookieName: string;
  /** What a browser gets in exchange for the key. The key cannot be found from it, and it changes with the key. */
  readonly cookie: string;
  isKey(value: unknown): boolean;
  /** @param header the Cookie header: of several cookies with this name, any that is correct is accepted */
  hasCookie(header: string | undefined): boolean;
}

/**
 * Who may read the mailbox besides administrators: the links in it open accounts, and neither an address nor a Host header tells
 * whether a request comes from this machine, because a proxy may have sent it.
 * @param given MAILBOX_KEY; without it, each start generates a key
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

/** In a time that does not depend on where they differ, nor on their length. */
const isSame = (one: string, other: string): boolean => timingSafeEqual(digest(one), digest(other));

const valuesOf = (header = ''): string[] =>
  header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${cookieName}=`))
    .map((pair) => pair.slice(cookieName.length + 1));
