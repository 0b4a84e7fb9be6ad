import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** What a refresh token says: which session it belongs to, and which of the session's successive tokens it is. */
export interface RefreshToken {
  sessionId: string;
  generation: number;
}

export interface RefreshTokens {
  /** A new token with 128 random bits in it: 64 characters of `[A-Za-z0-9_-]`. */
  issue(token: RefreshToken): string;
  /** Reads a token that we issued; undefined for anything else. Whether it still counts, the session's row tells. */
  read(token: string): RefreshToken | undefined;
}

/** SHA-256 in hex: how tokens with enough randomness of their own are stored. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');

const sizes = { session: 16, generation: 4, random: 16, tag: 12 };
const bodySize = sizes.session + sizes.generation + sizes.random;
const form = /^[A-Za-z0-9_-]{64}$/;

/**
 * A refresh token is, to its holder, 64 opaque characters. Inside are the session's id, the token's generation, random
 * bytes and a tag (HMAC-SHA256) over all that. The tag proves that we issued the token, even long after it was replaced,
 * so the reuse of an old one can be told from a guess without keeping old ones (RFC 9700, 4.14.2).
 * @param keys the first makes tags, all of them prove
 */
export function createRefreshTokens(keys: readonly [current: Buffer, ...previous: Buffer[]]): RefreshTokens {
  const [current] = keys;
  const tagOf = (key: Buffer, body: Buffer) => createHmac('sha256', key).update(body).digest().subarray(0, sizes.tag);

  return {
    issue: ({ sessionId, generation }) => {
      const body = Buffer.concat([
        Buffer.from(sessionId.replaceAll('-', ''), 'hex'),
        Buffer.alloc(sizes.generation),
        randomBytes(sizes.random),
      ]);
      body.writeUInt32BE(generation, sizes.session);
      return Buffer.concat([body, tagOf(current, body)]).toString('base64url');
    },

    read: (token) => {
      if (!form.test(token)) return undefined;
      const bytes = Buffer.from(token, 'base64url');
      const body = bytes.subarray(0, bodySize);
      const tag = bytes.subarray(bodySize);
      if (!keys.some((key) => timingSafeEqual(tag, tagOf(key, body)))) return undefined;
      const id = body.toString('hex', 0, sizes.session);
      return {
        sessionId: id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
        generation: body.readUInt32BE(sizes.session),
      };
    },
  };
}
