import { saveGrant } from '../../db/queries/applications/grants.js';
import { decideDeviceCode, findRecordByUserCode, type StoredRecord } from '../../db/queries/applications/records.js';
import { findSignIn } from '../../db/queries/applications/sign-ins.js';
import { type AttemptKeys, readAttemptState, withdrawAttempts } from '../../db/queries/passwords/login-attempts.js';
import { transact } from '../../db/statements.js';
import { ApiError } from '../../schemas/errors.js';
import { impliedScope } from '../../schemas/scopes.js';
import type { Client } from '../http/caller.js';
import { clockOffset } from '../platform/clock.js';
import type { Services } from '../platform/plugin.js';
import { maxGuessesInSession } from '../rate-limits/lockout.js';
import { hashToken } from '../tokens/refresh-tokens.js';
import { type DisplayedClient, displayedClient, type RequestedAccess } from './authorization-requests.js';
import { grantableScopes, ownScopesOf, settingsOf } from './provider/clients.js';
import type { BrowserSession } from './provider/exchange.js';
import { consentTo } from './provider/grants.js';
import type { RunningProvider } from './provider/index.js';
import { secondFactorAcr } from './provider/scopes.js';

/** Devices without a browser or a keyboard, on which a user signs in with a code (RFC 8628). */
export interface Devices {
  /**
   * What the device with this code asks for.
   * @throws {ApiError} FORBIDDEN if the code is wrong, has expired, or has been used; REQUESTS_EXCEEDED after too many wrong codes;
   *   UNPROCESSABLE_CONTENT if the device requires another sign-in
   */
  find(
    userCode: string,
    session: BrowserSession,
    from: Client,
  ): Promise<{ client: DisplayedClient; access: RequestedAccess }>;
  /** Stores the user's decision. @throws {ApiError} as `find` does */
  decide(userCode: string, session: BrowserSession, allows: boolean, from: Client): Promise<void>;
}

/** Under which wrong codes of a user are counted. */
const codeKeys = (user: string, network: string): AttemptKeys => ({
  fromHere: hashToken(`device code of ${user} from ${network}`),
  fromAnywhere: hashToken(`device code of ${user}`),
});

/** What a device asks for. The library replaces `max_age=0` with `prompt=login`. */
interface DeviceParameters {
  scope?: string;
  resource?: string | string[];
  max_age?: string;
  prompt?: string;
  acr_values?: string;
}

/** A code as users type it: in any case, with or without separators. */
const normalized = (userCode: string): string =>
  userCode
    .toUpperCase()
    .replaceAll(/[^A-Z]/g, '')
    .slice(0, 16);

export function createDevices(
  { db, clock, config, activity, lockouts }: Services,
  running: () => Promise<RunningProvider>,
): Devices {
  const findRequest = async (userCode: string) => {
    const { handles, provider, resources } = await running();
    const limits = { now: clock(), maxAge: config.SESSION_MAX_AGE || null, shift: clockOffset(clock) };
    const record = await findRecordByUserCode(db, handles.userCodes(normalized(userCode)), limits);
    if (!record || record.user !== null || record.payload.error !== undefined) return undefined;
    const client = await provider.Client.find(record.client ?? '');
    if (!client) return undefined;
    const params = (record.payload.params ?? {}) as DeviceParameters;
    const asked = params.scope?.split(' ') ?? [];
    const own = ownScopesOf(settingsOf(client));
    const found = await Promise.all([params.resource ?? []].flat().map((id) => resources.find(client, id)));
    const listed = found.flatMap((resource) =>
      resource
        ? {
            ...resource,
            granted: grantableScopes(settingsOf(client), resource).filter((scope) => asked.includes(scope)),
          }
        : [],
    );
    return { record, client, params, scopes: asked.filter((scope) => own.includes(scope)), resources: listed };
  };

  /**
   * Refuses wrong codes. Each code is counted before it is looked up, like a password. A correct one is removed from the count, but does not
   * reset it, because anyone can get one for a device of their own.
   */
  const read = async (userCode: string, { user, isRestricted }: BrowserSession, { network }: Client) => {
    const keys = codeKeys(user, network);
    const state = await readAttemptState(db, user, network, keys);
    const subject = { id: user, state: { ...state, limit: state.limit ?? maxGuessesInSession, isOnlyInSession: true } };
    const { counted } = await lockouts.reserve(subject, keys, network, state.isKnown);
    const withdraw = () => withdrawAttempts(db, counted);
    const found = isRestricted
      ? undefined
      : await findRequest(userCode).catch(async (error: unknown) => {
          await withdraw();
          throw error;
        });
    if (!found) throw new ApiError('FORBIDDEN');
    await withdraw();
    return found;
  };

  /** Requires of a sign-in what the device does. @returns how the user has signed in */
  const requireSignIn = async (
    { record, params }: { record: StoredRecord; params: DeviceParameters },
    { id, authenticatedAt }: BrowserSession,
  ): Promise<string[]> => {
    const refusal = (reason: string) => new ApiError('UNPROCESSABLE_CONTENT', { reason });
    const maxAge = params.prompt === 'login' ? 0 : Number(params.max_age ?? Number.POSITIVE_INFINITY);
    // As on the way to other applications, it is enough to sign in after the request.
    if (authenticatedAt < Math.min(record.created_at, clock().getTime() - maxAge * 1_000))
      throw refusal('The device requires a more recent sign-in');
    const amr = (await findSignIn(db, id))?.amr ?? [];
    if (params.acr_values?.split(' ').includes(secondFactorAcr) && !amr.includes('mfa'))
      throw refusal('The device requires a sign-in with a second factor');
    return amr;
  };

  return {
    find: async (userCode, session, from) => {
      const found = await read(userCode, session, from);
      await requireSignIn(found, session);
      const resources = found.resources.map(({ name, identifier, granted }) => ({
        name,
        identifier,
        scopes: granted.filter((scope) => scope !== impliedScope),
      }));
      return { client: displayedClient(found.client), access: { scopes: found.scopes, resources } };
    },

    decide: async (userCode, session, allows, from) => {
      const found = await read(userCode, session, from);
      const { record, client, params, scopes, resources } = found;
      const amr = allows ? await requireSignIn(found, session) : [];
      await transact(db, async (tx) => {
        if (!allows) {
          const refused = { payload: { error: 'access_denied', errorDescription: 'the user declined the request' } };
          const nobody = { user: null, session: null, grant: null, offline: false };
          if (!(await decideDeviceCode(tx, record.hash, { ...refused, ...nobody }))) throw new ApiError('FORBIDDEN');
          return;
        }
        const granted = Object.fromEntries(resources.map(({ identifier, granted }) => [identifier, granted]));
        const consent = consentTo(client, session.user, { scopes, resources: granted });
        const grant = await saveGrant(tx, consent, clock());
        const payload = {
          accountId: session.user,
          sessionUid: session.id,
          sid: session.id,
          grantId: grant.id,
          scope: params.scope,
          resource: params.resource,
          authTime: Math.floor(session.authenticatedAt / 1_000),
          amr,
          ...(amr.includes('mfa') ? { acr: secondFactorAcr } : {}),
        };
        const decision = {
          payload,
          user: session.user,
          session: session.id,
          grant: grant.id,
          offline: scopes.includes('offline_access'),
        };
        if (!(await decideDeviceCode(tx, record.hash, decision))) throw new ApiError('FORBIDDEN');
        const event = { action: 'application_allow', collection: 'grants', item: grant.id } as const;
        await activity.record(tx, { userId: session.user, client: from }, [event]);
      });
    },
  };
}
