import fc from 'fast-check';
import type { Known } from '../fuzz/draw.js';
import { createRequestDraw, type WireRequest } from '../fuzz/requests.js';
import type { OpenApiDocument } from '../openapi/document.js';
import type { Sending } from './connection.js';
import { host, malformed } from './malformed.js';

/** The credentials of a request, and whether they allow changes to many items at the same time. */
export interface Caller {
  headers: Record<string, string>;
  isAdmin: boolean;
}

/** Bytes to send, and the number of requests in them. */
export interface HostileAct {
  kind: keyof typeof shares;
  sending: Sending;
  amount: number;
}

/**
 * How often each kind is sent, counted in batches of requests. Two thirds of the requests do not reach the database, so
 * that a million requests do not take hours: `shallow` requests are anonymous and have a wrong path. One eighth is
 * `drawn` from the document for all kinds of callers, more than half of them with one error. Another eighth consists
 * of such requests with `altered` bytes, which may no longer be HTTP. The rest is malformed, truncated, sent slowly in
 * small pieces, or too large.
 */
const shares = { shallow: 170, drawn: 100, altered: 260, malformed: 100, cut: 20, slow: 20, oversized: 1 };

/**
 * Whether an operation is sent only one fifth as often as others. Hashing a password takes as long as ten other
 * requests, and the audit log grows with every rejected request and is slow to search.
 */
const isCostly = (operationId: string) =>
  /^(login|register|resetPassword|acceptInvite|createUsers|updateUsers?|updateMe|generateTfaSecret|disableTfa|createRecoveryCodes|(list|search)Activities)$/.test(
    operationId,
  );

const weightOf = (operationId: string) => (isCostly(operationId) ? 1 : 5);

const bytesOf = ({ method, url, headers, payload = '' }: WireRequest): Buffer => {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const body = Buffer.from(payload);
  if (body.length > 0 || method !== 'GET') lines.push(`content-length: ${body.length}\r\n`);
  return Buffer.concat([Buffer.from(`${method} ${url} HTTP/1.1\r\n${host}${lines.join('')}\r\n`), body]);
};

const random = (below: number) => Math.floor(Math.random() * below);
const pick = <T>(values: readonly T[]): T => values[random(values.length)] as T;

const byteFragments = [
  '\r\n',
  '\r\n\r\n',
  '\0',
  '"',
  '{',
  '[',
  '%',
  '%00',
  ':',
  ' ',
  '\t',
  '-',
  '9'.repeat(20),
  '\xff',
  '../',
  ',',
];

const pathFragments = [
  '%00',
  '%2e%2e/',
  '//',
  ';',
  '%',
  '%zz',
  '/*',
  '/\\',
  '%c0%ae',
  '/__proto__',
  '/.',
  '/:id',
  '%20',
  '~',
  '/%ff',
  '/x'.repeat(40),
];
const strayHeaders = [
  'accept',
  'accept-language',
  'range',
  'if-none-match',
  'x-forwarded-for',
  'x-request-id',
  'origin',
  'expect-ct',
  'te',
  'user-agent',
];

/** Returns the same request without credentials and with a wrong path. */
function misdirected({ method, url, payload }: WireRequest): { method: string; bytes: Buffer } {
  const [path = '/', query = ''] = url.split('?');
  const at = 1 + random(path.length);
  const astray = `${path.slice(0, at)}${pick(pathFragments)}${path.slice(at)}`.slice(0, 2_000);
  const headers = {
    'content-type': pick(['application/json', 'text/plain', 'application/json; charset=x', '/', 'a/b/c']),
    [pick(strayHeaders)]: pick(byteFragments).replaceAll(/[\r\n\0]/g, '') || 'x',
  };
  const asked = { method, url: `${astray}?${query.slice(0, 2_000)}`, headers };
  return {
    method,
    bytes: bytesOf({ ...asked, ...(payload === undefined ? {} : { payload: payload.slice(0, 5_000) }) }),
  };
}

/** Replaces, removes, inserts, or repeats a few bytes at random positions, or inserts bytes of another request. */
function alter(bytes: Buffer, other: Buffer): Buffer {
  let changed = bytes;
  for (let times = 1 + random(4); times > 0; times--) {
    const at = random(changed.length + 1);
    const end = Math.min(changed.length, at + 1 + random(20));
    const [before, part, after] = [changed.subarray(0, at), changed.subarray(at, end), changed.subarray(end)];
    const instead = pick([
      () => Buffer.from(pick(byteFragments), 'latin1'),
      () => Buffer.concat([part, Buffer.from(pick(byteFragments), 'latin1')]),
      () => Buffer.alloc(0),
      () => Buffer.from(part.map((byte) => byte ^ (1 << random(8)))),
      () => Buffer.concat([part, part]),
      () => other.subarray(random(other.length), random(other.length)),
    ])();
    changed = Buffer.concat([before, instead, after]);
  }
  return changed;
}

/**
 * Creates requests for one world. They are drawn from the document once and used several times: alone, in batches, and
 * with altered bytes.
 */
export function createHostileActs(
  document: OpenApiDocument,
  known: Known,
  callers: readonly Caller[],
  options: { size: number; seed: number },
): () => HostileAct {
  const drawRequest = createRequestDraw(document, weightOf);
  const drawn = fc.sample(
    fc.tuple(fc.constantFrom(...callers), fc.gen()).map(([caller, draw]) => {
      const request = drawRequest(draw, known, caller.headers);
      // A single request by an administrator could delete all users, including the one that creates the next world.
      const affectsManyItems =
        caller.isAdmin && ['PATCH', 'DELETE'].includes(request.method) && !request.url.slice(1).includes('/');
      return affectsManyItems ? { ...request, headers: {} } : request;
    }),
    { numRuns: options.size, seed: options.seed },
  );
  const pool = drawn.map((request) => ({ method: request.method, bytes: bytesOf(request) }));
  const broken = Object.values(malformed).map((bytes) => Buffer.from(bytes));
  const huge = [
    Buffer.concat([
      Buffer.from(
        `POST /auth/login HTTP/1.1\r\n${host}content-type: application/json\r\ncontent-length: 2000000\r\n\r\n`,
      ),
      Buffer.alloc(2_000_000, 'x'),
    ]),
    Buffer.from(
      `POST /users HTTP/1.1\r\n${host}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${`10000\r\n${'x'.repeat(65_536)}\r\n`.repeat(20)}0\r\n\r\n`,
    ),
  ];

  /** Sends a batch of requests in one piece, so that several requests are pending on a connection. */
  const pipelined = (row: readonly { method: string; bytes: Buffer }[]): Sending => ({
    pieces: [Buffer.concat(row.map(({ bytes }) => bytes))],
    methods: row.map(({ method }) => method),
    ending: 'answers',
  });
  const acts: Record<keyof typeof shares, () => Sending> = {
    shallow: () => pipelined(Array.from({ length: 1 + random(15) }, () => misdirected(pick(drawn)))),
    drawn: () => pipelined(Array.from({ length: 1 + random(4) }, () => pick(pool))),
    altered: () => ({
      pieces: [alter(pick(pool).bytes, pick(pool).bytes)],
      methods: ['altered'],
      ending: 'half-close',
    }),
    malformed: () => ({ pieces: [pick(broken)], methods: ['malformed'], ending: 'half-close' }),
    cut: () => {
      const { bytes, method } = pick(pool);
      return { pieces: [bytes.subarray(0, random(bytes.length))], methods: [method], ending: 'reset' };
    },
    slow: () => {
      const { bytes, method } = pick(pool);
      const size = Math.ceil(bytes.length / (2 + random(10)));
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      return { pieces, pause: 1 + random(10), methods: [method], ending: 'answers' };
    },
    oversized: () => ({ pieces: [pick(huge)], methods: ['POST'], ending: 'half-close' }),
  };
  const kinds = Object.entries(shares).flatMap(([kind, share]) =>
    Array.from({ length: share }, () => kind as keyof typeof shares),
  );
  return () => {
    const kind = pick(kinds);
    const sending = acts[kind]();
    return { kind, sending, amount: sending.methods.length };
  };
}
