import { createHmac, randomBytes } from 'node:crypto';

/**
 * Recognizes browsers from which a user has signed in before. The value of a cookie contains a mark for each of the latest users, which
 * only this service can create. It reveals nothing about the users, and gives no access to an account.
 */
export interface KnownBrowsers {
  /** The value of the cookie after a user has signed in. @param value the value that the browser sent; it may be forged */
  add(value: string | undefined, userId: string): string;
  /** Whether the cookie contains the mark of a user. */
  knows(value: string, userId: string): boolean;
}

/** The form of a value: a random name of the browser, and a mark for each user, latest first. */
const form = /^([\w-]{22})((?:\.[\w-]{22}){1,5})$/;
const maxUsers = 5;

/** @param keys the first one creates marks, and all of them verify */
export function createKnownBrowsers(keys: readonly [current: Buffer, ...previous: Buffer[]]): KnownBrowsers {
  const markOf = (key: Buffer, browser: string, userId: string) =>
    createHmac('sha256', key)
      .update(JSON.stringify([browser, userId]))
      .digest()
      .subarray(0, 16)
      .toString('base64url');
  const read = (value: string) => {
    const [, browser, marks = ''] = form.exec(value) ?? [];
    return browser === undefined ? undefined : { browser, marks: marks.slice(1).split('.') };
  };

  return {
    add: (value, userId) => {
      const { browser, marks } = read(value ?? '') ?? { browser: randomBytes(16).toString('base64url'), marks: [] };
      const mark = markOf(keys[0], browser, userId);
      return [browser, mark, ...marks.filter((other) => other !== mark)].slice(0, maxUsers + 1).join('.');
    },
    knows: (value, userId) => {
      const found = read(value);
      return found !== undefined && keys.some((key) => found.marks.includes(markOf(key, found.browser, userId)));
    },
  };
}
