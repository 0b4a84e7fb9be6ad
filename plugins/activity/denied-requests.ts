import type { FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import type { RecordedAs } from '../../schemas/activity.js';
import { uuidPattern } from '../../schemas/common.js';
import { ApiError } from '../../schemas/errors.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Writes down that the request was refused, if that is something for the audit log. Never fails. */
    recordRefusal(thrown: unknown): Promise<void>;
  }
  interface FastifyContextConfig {
    /** What the route is recorded as, when it is. */
    recordedAs?: RecordedAs;
  }
}

/**
 * Whether somebody was refused for who they are, what they may, or what they have shown. Requests that cannot be understood,
 * that came too often, or that failed by our fault are for the log alone.
 */
const isRefusal = ({ status, code, subject }: ApiError): boolean =>
  [401, 403, 422].includes(status) || code === 'INVALID_INVITE' || (subject !== undefined && status < 429);

/** The key in a path, if it can be one: anything else might be something that does not belong into the audit log. */
const keyIn = ({ params }: FastifyRequest): string | undefined => {
  const { id } = (params ?? {}) as { id?: string };
  return id !== undefined && (uuidPattern.test(id) || /^\d{1,9}$/.test(id)) ? id.toLowerCase() : undefined;
};

/** Every operation that is recorded when it is done is also recorded when it is refused. */
export const refusalsPlugin = plugin(
  async (app) => {
    app.decorateRequest('recordRefusal', async function (this: FastifyRequest, thrown: unknown) {
      const { recordedAs, access } = this.routeOptions.config ?? {};
      if (!recordedAs || !this.isAdmitted || !(thrown instanceof ApiError) || !isRefusal(thrown)) return;
      const [action, collection] = recordedAs;
      const { principal, client } = this;
      const userId = principal?.userId ?? null;
      const own = access === 'authenticated' && collection === 'users' ? userId : null;
      const item = thrown.subject ?? keyIn(this) ?? own;
      try {
        await app.activity.refuse({ userId, client }, { action, collection, item }, thrown.code);
      } catch (error) {
        this.log.error({ err: error }, 'a refusal could not be written into the audit log');
      }
    });
    app.addHook('onError', async (request, _reply, error) => request.recordRefusal(error));
  },
  { name: 'refusals' },
);
