import { asc, eq } from 'drizzle-orm';
import type { FastifyInstance } from 'fastify';
import { activity } from '../../../db/schema.js';
import type { ActivityAction } from '../../../schemas/activity.js';

/** The rows of the audit log, in the order of events. With `requestId`, only the rows of that request. */
export const recorded = (app: FastifyInstance, requestId?: unknown) =>
  app.db
    .select()
    .from(activity)
    .where(requestId === undefined ? undefined : eq(activity.requestId, String(requestId)))
    .orderBy(asc(activity.id));

/** The rows with the given action. */
export const recordedAs = async (app: FastifyInstance, action: ActivityAction) =>
  (await recorded(app)).filter((row) => row.action === action);
