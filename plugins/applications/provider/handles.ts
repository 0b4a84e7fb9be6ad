import { createHmac } from 'node:crypto';

/** Computes values that only the service can compute, from those that clients present. */
export interface Handles {
  /** The refresh tokens that can replace one: that of the current SECRET first. */
  successorsOf(refreshToken: string): readonly [current: string, ...previous: string[]];
  /** The stored form of a code that a user enters. */
  userCode(code: string): string;
  /** The handle under which an access token in the form of a JWT is stored. A JWT's ID is no secret, but its handle is. */
  jwt(id: string): string;
}

/** @param keys the first one is that of the current SECRET */
export function createHandles(keys: readonly [current: Buffer, ...previous: Buffer[]]): Handles {
  const [current, ...previous] = keys;
  const mac = (key: Buffer, purpose: string, text: string) =>
    createHmac('sha256', key).update(`${purpose}\0${text}`).digest('base64url');
  const successor = (key: Buffer, token: string) => mac(key, 'successor of a refresh token', token);
  return {
    successorsOf: (token) => [successor(current, token), ...previous.map((key) => successor(key, token))],
    userCode: (code) => createHmac('sha256', current).update(`user code\0${code}`).digest('hex'),
    jwt: (id) => mac(current, 'access token', id),
  };
}
