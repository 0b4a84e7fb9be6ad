import plugin from 'fastify-plugin';
import { ApiError } from '../../schemas/errors.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** A body was sent but not read, because its Content-Type is missing or is not JSON. */
    hasIgnoredBody: boolean;
  }
}

const refuse = (reason: string) => new ApiError('INVALID_PAYLOAD', { reason });

/** Deeper than any payload of ours, and far from what would exhaust the stack of whoever walks or serializes it. */
const deepest = 64;

/**
 * How bodies are read: JSON, where nothing at all counts as `{}`. A body of any other type is not looked
 * at and counts as `{}` too, so a route that needs a field from it refuses it, and others go on.
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

/** What is wrong with a parsed body, if anything is. */
function faultOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return 'The body must be a JSON object or array.';
  if (isDeeperThan(value, deepest)) return `The body is nested more than ${deepest} levels deep.`;
  if (!isStorable(value)) return 'Text in the body has a NUL character or half a surrogate pair.';
  return undefined;
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeperThan(item, levels - 1));
}

/** Whether every text in a value can be stored and hashed without loss: no NUL, which PostgreSQL refuses, and well-formed. */
function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return !value.includes('\0') && value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([key, item]) => isStorable(key) && isStorable(item));
}
