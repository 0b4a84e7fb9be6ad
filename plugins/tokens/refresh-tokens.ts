import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** What a refresh token says: which session it belongs to, and which of the session's successive tokens it is. */
export interface RefreshToken {
  sessionId: string;
  generation: number;
}

export interface RefreshTokens {
  /** The token of a generation of a session, always the same: 64 characters of `[A-Za-z0-9_-]`. */
  issue(token: RefreshToken): string;
  /** The same, as it was issued when its hash was stored: perhaps with one of the previous keys. Undefined if none of our keys matches. */
  reissue(token: RefreshToken, hash: string): string | undefined;
  /** Reads a token that we issued; undefined for anything else. The session's row says whether it is still valid. */
  read(token: string): RefreshToken | undefined;
}

/** SHA-256 in hex: how tokens with enough randomness of their own are stored. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');

const sizes = { session: 16, generation: 4, secret: 16, tag: 12 };
const bodySize = sizes.session + sizes.generation + sizes.secret;
const form = /^[A-Za-z0-9_-]{64}$/;

/**
 * To its holder, a refresh token is 64 opaque characters. It consists of the session's id, the token's generation, a secret,
 * and a tag (HMAC-SHA256) over all that. The tag proves that we issued the token, even long after it was replaced, so that
 * reuse of an old one can be distinguished from a guess without storing old ones (RFC 9700, 4.14.2).
 *
 * The secret is not random, but derived from the session's id and the generation with a key (HMAC-SHA256 again). So any
 * instance can give the same successor again to a client that has lost it, and an attacker who can only read the database cannot.
 * @param keys the first issues tokens, all of them prove
 */
export function createRefreshTokens(keys: readonly [current: Buffer, ...previous: Buffer[]]): RefreshTokens {
  const [current] = keys;
  const tagOf = (key: Buffer, body: Buffer) => createHmac('sha256', key).update(body).digest().subarray(0, sizes.tag);
  const secretOf = (key: Buffer, place: Buffer) =>
    createHmac('sha256', key).update('secret of a refresh token').update(place).digest().subarray(0, sizes.secret);

  const make = (key: Buffer, { sessionId, generation }: RefreshToken): string => {
    const place = Buffer.alloc(sizes.session + sizes.generation);
    place.write(sessionId.replaceAll('-', ''), 'hex');
    place.writeUInt32BE(generation, sizes.session);
    const body = Buffer.concat([place, secretOf(key, place)]);
    return Buffer.concat([body, tagOf(key, body)]).toString('base64url');
  };

  return {
    issue: (token) => make(current, token),

    reissue: (token, hash) => keys.map((key) => make(key, token)).find((made) => hashToken(made) === hash),

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
