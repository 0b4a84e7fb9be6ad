import { randomUUID } from 'node:crypto';
import type { Client as LibraryClient, Provider } from 'oidc-provider';
import type { Job } from '../../db/job-queue.js';
import {
  type EndedSessionClient,
  hasEndedSessionClients,
  takeEndedSessionClients,
} from '../../db/queries/applications/session-clients.js';
import { transact } from '../../db/statements.js';
import { anyAddress, createHttpClient } from '../platform/http-client.js';
import type { Services } from '../platform/plugin.js';
import { isPublicAddress } from '../platform/public-addresses.js';
import type { TracedOperation } from '../platform/traced-operations.js';
import { settingsOf } from './provider/clients.js';
import type { RunningProvider } from './provider/index.js';

/** A notice to send. */
interface Notice extends Pick<EndedSessionClient, 'client' | 'user' | 'session'> {
  /** The host that receives it. Several clients can share one. */
  receiver: string;
}

/** Notifies applications that a session has ended (OpenID Connect Back-Channel Logout 1.0). */
export interface LogoutNotices {
  /** Sends what is due now, without waiting for the background worker. @returns how many it tried to send */
  sendNow(): Promise<number>;
}

/** How often the service looks for sessions that have ended, in milliseconds. */
const interval = 1_000;
/** Maximum number of notices that one transaction queues. */
const maxQueued = 500;
/** Milliseconds for a request to an application. */
const requestTimeout = 5_000;
const maxResponseBytes = 1_024;
/** Maximum number of notices that an instance sends at the same time, and how many of them can be for the same host. */
const concurrency = 10;
const maxPerReceiver = 2;

/**
 * A session can end in many ways, of which some only the database knows, such as the deletion of its user. Therefore each session has a row
 * for every application to notify (`session_clients`). The transaction that ends the session marks these rows, and then they become jobs.
 */
export function createLogoutNotices(services: Services, running: () => Promise<RunningProvider>): LogoutNotices {
  const { config, db, defineJob, every, log, observe } = services;
  const send = createHttpClient({
    allows: config.WEBHOOK_ALLOW_PRIVATE_ADDRESSES ? anyAddress : isPublicAddress,
    timeout: requestTimeout,
    maxBytes: maxResponseBytes,
    truncates: true,
    observe,
  });
  const requiresHttps = config.NODE_ENV === 'production';

  const notify = async ({ client: id, user, session }: Notice): Promise<undefined> => {
    const { provider } = await running();
    const client = await provider.Client.find(id);
    const uri = client && settingsOf(client).backchannel_logout_uri;
    // The client was deleted, or no longer needs to know.
    if (!client || !uri) return undefined;
    if (requiresHttps && !uri.startsWith('https:')) throw new Error('With NODE_ENV=production, only https is allowed.');
    const { status } = await send(uri, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: String(new URLSearchParams({ logout_token: await logoutToken(provider, client, user, session) })),
    });
    if (status !== 200 && status !== 204) throw new Error(`The application returned ${status}.`);
    return undefined;
  };

  const jobs = defineJob<Notice>('logout', {
    // The last attempt is about ten minutes after the first one.
    retryLimit: 5,
    retryDelay: 10,
    // Longer than any attempt can take.
    expireInSeconds: 60,
    retentionDays: 1,
    work: {
      concurrency,
      share: { by: 'receiver', max: maxPerReceiver },
      run: (job) => observe(noticeOf(job), () => notify(job.data)),
      onFailure: (error, { id, attempt, data: { client } }) =>
        log.warn({ err: error, logout: { id, client, attempt } }, 'an application could not be notified of a logout'),
    },
  });

  /** Queues up to `maxQueued` notices. @returns how many */
  const queueSome = (): Promise<number> =>
    transact(db, async (tx) => {
      const ended = await takeEndedSessionClients(tx, maxQueued);
      const notices = ended.map(({ uri, ...notice }) => ({
        ...notice,
        receiver: uri === null ? '' : new URL(uri).host,
      }));
      await jobs.sendAll(tx, notices);
      return ended.length;
    });
  const queue = async (): Promise<void> => {
    if (!(await hasEndedSessionClients(db))) return;
    while ((await queueSome()) === maxQueued);
  };
  every(interval, queue, 'notifications of logouts could not be queued');

  return {
    sendNow: async () => {
      await queue();
      return jobs.runNow();
    },
  };
}

const noticeOf = ({ id, data: { client } }: Job<Notice>): TracedOperation => ({
  name: 'notify of logout',
  kind: 'internal',
  attributes: { 'gatehouse.logout.id': id, 'gatehouse.logout.client': client },
  isRoot: true,
});

/** The event that a logout token reports (Back-Channel Logout 1.0, 2.4). */
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/** A logout token, which is valid for two minutes, so that each attempt has its own. */
function logoutToken(provider: Provider, client: LibraryClient, user: string, session: string): Promise<string> {
  // The types leave out what the library itself uses.
  const { IdToken } = provider as unknown as { IdToken: new (claims: object, context: object) => LogoutToken };
  const token = new IdToken({ sub: user }, { client, ctx: undefined });
  token.mask = { sub: null };
  token.set('events', { [logoutEvent]: {} });
  token.set('jti', randomUUID());
  token.set('sid', session);
  return token.issue({ use: 'logout' });
}

interface LogoutToken {
  mask: object;
  set(claim: string, value: unknown): void;
  issue(options: { use: 'logout' }): Promise<string>;
}
