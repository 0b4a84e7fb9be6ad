import { asc, eq } from 'drizzle-orm';
import type { FastifyInstance } from 'fastify';
import { activity } from '../../db/schema.js';
import { createSeals } from '../../plugins/activity/hmac-signatures.js';
import { type NotedHead, type Verdict, verifyActivity } from '../../plugins/activity/verify.js';
import { keysFor } from '../../plugins/platform/key-derivation.js';
import type { ActivityAction } from '../../schemas/activity.js';

/** The rows of the audit log, in the order of events; of one request, when it is given. */
export const recorded = (app: FastifyInstance, requestId?: unknown) =>
  app.db
    .select()
    .from(activity)
    .where(requestId === undefined ? undefined : eq(activity.requestId, String(requestId)))
    .orderBy(asc(activity.id));

/** The rows of one action. */
export const recordedAs = async (app: FastifyInstance, action: ActivityAction) =>
  (await recorded(app)).filter((row) => row.action === action);

/** What `npm run audit:verify` finds. */
export const verify = (app: FastifyInstance, noted?: NotedHead): Promise<Verdict> =>
  verifyActivity(app.db, createSeals(keysFor(app.config, 'activity')), noted);
