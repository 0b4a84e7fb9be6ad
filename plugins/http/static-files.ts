import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { definePlugin } from '../platform/plugin.js';

/** A file that is the same for all callers, with its compressed forms. */
export interface StaticFile {
  mediaType: string;
  /** Changes with the content, so that a URL with the version can be cached forever. */
  version: string;
  body: Buffer;
  /** Whether its name contains a hash of its content, so that its URL needs no version. */
  hasHashInName?: boolean;
  /** By content coding. */
  compressed: Partial<Record<Coding, Buffer>>;
}

type Coding = 'br' | 'gzip';

/** In order of preference: the first one makes the smallest files. */
const codings: readonly Coding[] = ['br', 'gzip'];

export const versionOf = (body: Buffer): string => createHash('sha256').update(body).digest('base64url').slice(0, 16);

/** Reads a file, and its compressed forms, which the build creates (`scripts/build.mjs`). */
export function readStaticFile(url: URL, mediaType: string): StaticFile {
  const body = readFileSync(url);
  const compressed: StaticFile['compressed'] = {};
  for (const [coding, extension] of [
    ['br', '.br'],
    ['gzip', '.gz'],
  ] as const) {
    const place = new URL(`${url.href}${extension}`);
    if (existsSync(place)) compressed[coding] = readFileSync(place);
  }
  return { mediaType, version: versionOf(body), body, compressed };
}

/** Compresses a text that is known only at run time, outside the main thread. */
export async function compressedFile(text: string, mediaType: string): Promise<StaticFile> {
  const body = Buffer.from(text);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 5 };
  const [br, gz] = await Promise.all([promisify(brotliCompress)(body, { params }), promisify(gzip)(body)]);
  return { mediaType, version: versionOf(body), body, compressed: { br, gzip: gz } };
}

const cacheForever = 'public, max-age=31536000, immutable';
const revalidate = 'public, no-cache';

declare module 'fastify' {
  interface FastifyReply {
    /**
     * Sends a file in a form that the client accepts. Clients can cache a URL with the current version (`v`) forever, and must
     * revalidate any other URL.
     */
    sendStaticFile(file: StaticFile): FastifyReply;
  }
}

/** `reply.sendStaticFile`. */
export const staticFilesPlugin = definePlugin('http/static-files', (_services, app) => {
  app.decorateReply('sendStaticFile', function (file) {
    return send(this.request, this, file);
  });
});

function send(request: FastifyRequest, reply: FastifyReply, file: StaticFile): FastifyReply {
  const { mediaType, version, body, compressed, hasHashInName } = file;
  const coding = codings.find((one) => compressed[one] && accepts(request.headers['accept-encoding'], one));
  const etag = `"${version}${coding === undefined ? '' : `-${coding}`}"`;
  const isCurrent = hasHashInName || (request.query as { v?: unknown }).v === version;
  reply.headers({ etag, 'cache-control': isCurrent ? cacheForever : revalidate, 'content-type': mediaType });
  reply.header('vary', withValue(reply.getHeader('vary'), 'Accept-Encoding'));
  const known = request.headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  if (known?.some((tag) => tag === etag || tag === '*')) return reply.code(304).send();
  if (coding !== undefined) reply.header('content-encoding', coding);
  return reply.send(coding === undefined ? body : compressed[coding]);
}

/** Whether a client accepts a content coding (RFC 9110, 12.5.3). */
function accepts(header: string | string[] | undefined, coding: Coding): boolean {
  const parts = [header ?? ''].flat().join().toLowerCase().split(',');
  const parsed = parts.map((part) => {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim());
    return { name, isRefused: parameters.some((parameter) => /^q\s*=\s*0(\.0*)?$/.test(parameter)) };
  });
  const named = parsed.find(({ name }) => name === coding) ?? parsed.find(({ name }) => name === '*');
  return named !== undefined && !named.isRefused;
}

const withValue = (header: unknown, value: string): string =>
  header === undefined || header === '' ? value : `${String(header)}, ${value}`;
