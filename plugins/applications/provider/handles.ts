import { createHmac } from 'node:crypto';

/** A value for each SECRET. What is stored now has that of the current one; what was stored before SECRET was changed has another. */
export type ForEachSecret = readonly [current: string, ...previous: string[]];

/** Computes values that only the service can compute, from those that clients present. */
export interface Handles {
  /** The refresh tokens that can replace one. */
  successorsOf(refreshToken: string): ForEachSecret;
  /** The stored form of a code that a user enters. */
  userCodes(code: string): ForEachSecret;
  /** The handle under which an access token in the form of a JWT is stored. A JWT's ID is no secret, but its handle is. */
  jwts(id: string): ForEachSecret;
}

/** @param keys the first one is that of the current SECRET */
export function createHandles([current, ...previous]: readonly [current: Buffer, ...previous: Buffer[]]): Handles {
  const forEach = (compute: (key: Buffer) => string): ForEachSecret => [compute(current), ...previous.map(compute)];
  const mac = (key: Buffer, purpose: string, text: string) =>
    createHmac('sha256', key).update(`${purpose}\0${text}`).digest('base64url');
  return {
    successorsOf: (token) => forEach((key) => mac(key, 'successor of a refresh token', token)),
    userCodes: (code) => forEach((key) => createHmac('sha256', key).update(`user code\0${code}`).digest('hex')),
    jwts: (id) => forEach((key) => mac(key, 'access token', id)),
  };
}
