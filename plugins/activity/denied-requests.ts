import type { FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import type { RecordedAs } from '../../schemas/activity.js';
import { uuidPattern } from '../../schemas/common.js';
import { ApiError } from '../../schemas/errors.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Records in the audit log that the request was denied, if the log covers such requests. Never fails. */
    recordRefusal(thrown: unknown): Promise<void>;
  }
  interface FastifyContextConfig {
    /** The action and collection under which the route is recorded, if it is. */
    recordedAs?: RecordedAs;
  }
}

/**
 * Whether a request was denied because of the caller's identity, rights or credentials. Malformed requests, requests over a rate
 * limit, and internal errors appear only in the server's log.
 */
const isRefusal = ({ status, code, subject }: ApiError): boolean =>
  [401, 403, 422].includes(status) || code === 'INVALID_INVITE' || (subject !== undefined && status < 429);

/** The key in the path, if it has the format of one. Any other text might be something that must not be in the audit log. */
const keyIn = ({ params }: FastifyRequest): string | undefined => {
  const { id } = (params ?? {}) as { id?: string | number };
  const key = String(id ?? '').toLowerCase();
  return uuidPattern.test(key) || /^\d{1,9}$/.test(key) ? key : undefined;
};

/** Records denied requests for every operation whose success is recorded. */
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
        this.log.error({ err: error }, 'a denied request could not be recorded in the audit log');
      }
    });
    app.addHook('onError', async (request, _reply, error) => request.recordRefusal(error));
  },
  { name: 'refusals' },
);
