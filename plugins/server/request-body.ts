import plugin from 'fastify-plugin';
import { ApiError } from '../../schemas/errors.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** A body was sent but not read, because its Content-Type is missing or is not JSON. */
    hasIgnoredBody: boolean;
  }
}

const refuse = (reason: string) => new ApiError('INVALID_PAYLOAD', { reason });

/** Levels. Deeper than any valid payload, but not deep enough to overflow the stack of a recursive function. */
const maxDepth = 64;

/**
 * Parses bodies as JSON. An empty body is treated as `{}`. A body of any other type is ignored and also treated as `{}`, so only
 * routes that require a field reject it.
 */
export const requestBodyPlugin = plugin(
  async (app) => {
    // Refuses `__proto__` and `constructor.prototype` keys.
    const parseJson = app.getDefaultJsonParser('error', 'error');
    app.removeAllContentTypeParsers();

    app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
      if (body.length === 0) return done(null, {});
      let parsed: { error: Error | null; value?: unknown } | undefined;
      parseJson(request, decode(body), (error, value) => {
        parsed = { error, value };
      });
      if (!parsed || parsed.error) return done(refuse('The body is not valid JSON.'));
      const fault = faultOf(parsed.value);
      if (fault !== undefined) return done(refuse(fault));
      done(null, parsed.value);
    });
    app.decorateRequest('hasIgnoredBody', false);
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
      request.hasIgnoredBody = body.length > 0;
      done(null, {});
    });

    app.addHook('preValidation', async (request) => {
      request.body ??= {};
    });
  },
  { name: 'request-body' },
);

function decode(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw refuse('The body is not valid UTF-8.');
  }
}

/** The fault in a parsed body, if any. */
function faultOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return 'The body must be a JSON object or array.';
  if (isDeeperThan(value, maxDepth)) return `The body is nested more than ${maxDepth} levels deep.`;
  if (!isStorable(value)) return 'A string in the body contains a NUL character or an unpaired surrogate.';
  return undefined;
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeperThan(item, levels - 1));
}

/** Whether all texts in a value can be stored and hashed without loss: well-formed, and without NUL, which PostgreSQL rejects. */
function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return !value.includes('\0') && value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([key, item]) => isStorable(key) && isStorable(item));
}
