import { createHmac } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { deriveKey } from '../../../plugins/platform/key-derivation.js';

/** The key with which the service signs access tokens. */
export const accessTokenKey = (app: FastifyInstance): Buffer => deriveKey(app.config.SECRET, 'access-token');

export const accessTokenHeader = { alg: 'HS256', typ: 'at+jwt' };

/** Encodes one part of a JWT. A string is used unchanged, so it can contain JSON that no object can represent. */
export const encodePart = (part: object | string): string =>
  Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url');

/** Signs any content as a JWT with HMAC, regardless of its header. */
export function signJwt(
  key: Buffer | string,
  claims: object | string,
  header: object | string = accessTokenHeader,
  hash: 'sha256' | 'sha384' | 'sha512' = 'sha256',
): string {
  const input = `${encodePart(header)}.${encodePart(claims)}`;
  return `${input}.${createHmac(hash, key).update(input).digest('base64url')}`;
}

export function decodeJwt(token: string): { header: Record<string, unknown>; claims: Record<string, unknown> } {
  const [header = '', claims = ''] = token.split('.');
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
  return { header: read(header), claims: read(claims) };
}
