import type { Test } from 'tap';
import { refused } from '../http/refusals.js';
import { codeOf, type TestApp } from '../service/app.js';
import { day } from '../service/clock.js';
import { encodePart, signJwt } from './jwt.js';

/** Sends a token to a route that accepts tokens from links. */
export type Take = (token: string) => ReturnType<TestApp['post']>;

/**
 * Asserts that a route rejects link tokens that are forged, malformed, of another kind, or expired. Moves the clock
 * forward.
 * @param fresh creates a valid token
 * @param others valid tokens of other kinds
 * @param lifetime milliseconds
 */
export async function refusesBadTokens(
  t: Test,
  { app, clock, get }: TestApp,
  { take, fresh, others, lifetime }: { take: Take; fresh(): Promise<string>; others: string[]; lifetime: number },
): Promise<void> {
  const token = await fresh();
  const [head = '', body = '', tag = ''] = token.split('.');
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString());
  const forged = {
    'no token at all': 'x',
    'an empty header': `.${body}.${tag}`,
    'no signature': `${head}.${body}.`,
    'alg none': `${encodePart({ alg: 'none', typ: 'link+jwt' })}.${body}.`,
    'another user': `${head}.${encodePart({ ...claims, id: '00000000-0000-4000-8000-000000000000' })}.${tag}`,
    'another key': signJwt('a secret of somebody else, long enough', claims, { alg: 'HS256', typ: 'link+jwt' }),
    'an access token': app.jwt.sign({ ...claims, session: claims.id }),
    'a truncated token': token.slice(0, -1),
    'an extra character': `${token}A`,
    'an extra space': ` ${token}`,
    'a very long token': `${token}${'A'.repeat(20_000)}`,
  };
  for (const [what, bad] of Object.entries(forged)) refused(t, await take(bad), 'INVALID_TOKEN', what);
  // Change each character of the claims and of the signature, and truncate the token to different lengths.
  const turned = Array.from(token.slice(head.length + 1), (character, index) => {
    const position = head.length + 1 + index;
    return `${token.slice(0, position)}${character === 'A' ? 'B' : 'A'}${token.slice(position + 1)}`;
  });
  const cut = Array.from({ length: 20 }, (_, index) => token.slice(0, Math.floor((token.length * index) / 20)));
  const accepted: string[] = [];
  for (const bad of [...turned, ...cut.slice(1)]) {
    const response = await take(bad);
    if (response.statusCode !== 403 || codeOf(response) !== 'INVALID_TOKEN') accepted.push(bad);
  }
  t.strictSame(accepted, [], `all ${turned.length} altered tokens and all truncated tokens are rejected`);
  for (const other of others) refused(t, await take(other), 'FORBIDDEN', 'a token of another kind');
  const asCredential = await get('/users/me', { authorization: `Bearer ${token}` });
  refused(t, asCredential, 'INVALID_TOKEN', 'the token is not accepted as an access token');

  clock.advance(lifetime - 1_000);
  const young = await fresh();
  clock.advance(2_000);
  refused(t, await take(token), 'TOKEN_EXPIRED', 'an expired token');
  t.equal((await take(young)).statusCode, 204, 'a token that has not expired is accepted');
  clock.advance(day);
}
