import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** The contents of a refresh token: its session, and its position among the session's successive tokens. */
export interface RefreshToken {
  sessionId: string;
  generation: number;
}

export interface RefreshTokens {
  /** The token for a generation of a session, with 64 characters of `[A-Za-z0-9_-]`. A generation always has the same token. */
  issue(token: RefreshToken): string;
  /** The token with this hash, possibly issued with a previous key. Undefined if no key produces this hash. */
  reissue(token: RefreshToken, hash: string): string | undefined;
  /** Reads a token that this service issued; undefined for any other text. The session's row determines whether it is still valid. */
  read(token: string): RefreshToken | undefined;
}

/** SHA-256 in hex: the stored form of tokens with enough randomness. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');

const sizes = { session: 16, generation: 4, secret: 16, tag: 12 };
const bodySize = sizes.session + sizes.generation + sizes.secret;
const form = /^[A-Za-z0-9_-]{64}$/;

/**
 * To its holder, a refresh token is 64 opaque characters. It consists of the session's id, the token's generation, a secret,
 * and a tag (HMAC-SHA256) over all of these. The tag proves that the service issued the token, even long after it was replaced. The
 * service can therefore distinguish the reuse of an old token from a guess, without storing old tokens (RFC 9700, 4.14.2).
 *
 * The secret is not random, but derived from the session's id and the generation with a key (HMAC-SHA256 again). Any
 * instance can therefore send the same successor again to a client that has lost it, but an attacker who can only read the database
 * cannot create it.
 * @param keys the first one issues tokens, and all of them verify
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
