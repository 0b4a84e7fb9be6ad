import type { FastifyRequest, FastifySchema } from 'fastify';
import { type ActivityAction, activityActions, type RecordedAs } from '../../schemas/activity.js';
import { uuidPattern } from '../../schemas/common.js';
import { ApiError, declaredErrors } from '../../schemas/errors.js';
import { definePlugin, type Services } from '../platform/plugin.js';

declare module '../platform/plugin.js' {
  interface Services {
    /** Every user action, paired with each outcome that its routes declare. Complete once the app is ready. */
    recordedOutcomes: Iterable<readonly [action: ActivityAction, outcome: string]>;
  }
}

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
 * limit, and internal errors appear only in the server's log. An attempt on a locked account is recorded, because it has a `reason`.
 */
const isRefusal = ({
  status,
  code,
  subject,
  reason,
}: Pick<ApiError, 'status' | 'code'> & Partial<Pick<ApiError, 'subject' | 'reason'>>): boolean =>
  reason !== undefined ||
  [401, 403, 422].includes(status) ||
  code === 'INVALID_INVITE' ||
  (subject !== undefined && status < 429);

/** The key in the path, if it has the format of a key. Any other text might be something that must not be in the audit log. */
const keyIn = ({ params }: FastifyRequest): string | undefined => {
  const { id } = (params ?? {}) as { id?: string | number };
  const key = String(id ?? '').toLowerCase();
  return uuidPattern.test(key) || /^\d{1,9}$/.test(key) ? key : undefined;
};

/** Records denied requests for every operation whose success is recorded. */
export const deniedRequestsPlugin = definePlugin('activity/denied-requests', ({ activity }, app) => {
  app.decorateRequest('recordRefusal', async function (this: FastifyRequest, thrown: unknown) {
    const { recordedAs, access } = this.routeOptions.config ?? {};
    if (!recordedAs || !this.isAdmitted || !(thrown instanceof ApiError) || !isRefusal(thrown)) return;
    const [action, collection] = recordedAs;
    const { principal, client } = this;
    // A dry run leaves nothing behind. The console uses one to find out what its user may do.
    if (client.unit?.isDryRun) return;
    const origin = principal ?? { userId: null, client };
    const { userId } = origin;
    const own = access === 'authenticated' && collection === 'users' ? userId : null;
    const item = thrown.subject ?? keyIn(this) ?? own;
    try {
      await activity.recordRefusal(origin, { action, collection, item }, thrown.code, thrown.reason);
    } catch (error) {
      this.log.error({ err: error }, 'a denied request could not be recorded in the audit log');
    }
  });
  const routes: { action: ActivityAction; schema: FastifySchema }[] = [];
  app.addHook('onRoute', ({ config, schema }) => {
    if (config?.recordedAs && schema) routes.push({ action: config.recordedAs[0], schema });
  });
  const recordedOutcomes: Services['recordedOutcomes'] = {
    *[Symbol.iterator]() {
      for (const action of Object.keys(activityActions)) yield [action as ActivityAction, 'success'] as const;
      for (const { action, schema } of routes)
        for (const error of declaredErrors(schema.response)) if (isRefusal(error)) yield [action, error.code] as const;
    },
  };
  app.addHook('onError', async (request, _reply, error) => request.recordRefusal(error));
  return { recordedOutcomes };
});
