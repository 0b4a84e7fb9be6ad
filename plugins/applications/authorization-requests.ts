import type { InteractionResults, Client as LibraryClient } from 'oidc-provider';
import { saveGrant } from '../../db/queries/applications/grants.js';
import { type StoredRecord, updatePayload } from '../../db/queries/applications/records.js';
import { findSignIn } from '../../db/queries/applications/sign-ins.js';
import { transact } from '../../db/statements.js';
import { ApiError } from '../../schemas/errors.js';
import { impliedScope } from '../../schemas/scopes.js';
import type { Client } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';
import { webUrl } from '../platform/urls.js';
import { isMetadataUrl, settingsOf } from './provider/clients.js';
import type { BrowserSession } from './provider/exchange.js';
import { consentTo } from './provider/grants.js';
import type { RunningProvider } from './provider/index.js';
import { secondFactorAcr } from './provider/scopes.js';
import { createHasSecondFactor } from './second-factors.js';

/** A client, as the user sees it. */
export interface DisplayedClient {
  name: string;
  /** The host of the client's own metadata, if nobody registered it. Anyone can choose any name, but not this. */
  host: string | null;
  /** What to call it where the page shows only one of them. */
  label: string;
}

/** What a client asks for. */
export interface RequestedAccess {
  scopes: string[];
  resources: { name: string; identifier: string; scopes: string[] }[];
}

/** What the user has to do next for a request. */
export type NextStep =
  /** Redirect to the provider, which continues the request. */
  | { kind: 'continue'; to: string }
  /** Set up the second factor that a policy requires, on the account page. */
  | { kind: 'set-up' }
  | {
      kind: 'sign-in';
      client: DisplayedClient;
      /** Whether the user should register. */
      registers: boolean;
      /** Whether the user must prove their identity again, although they are signed in. */
      again: boolean;
      loginHint: string | undefined;
      locales: string[];
    }
  | {
      kind: 'consent';
      client: DisplayedClient;
      access: RequestedAccess;
      /** The email address of the signed-in user. */
      user: string;
      /** The host to which the user will be redirected. */
      redirectHost: string;
      locales: string[];
    };

/** Requests of applications to sign a user in, while the user is on the pages of the service. */
export interface AuthorizationRequests {
  /** The client of a request, whichever browser it belongs to. @returns undefined if the request is unknown, or has expired */
  clientOf(id: string, from: Client): Promise<DisplayedClient | undefined>;
  /**
   * What the user has to do next.
   * @param browserIds the IDs of requests in the cookies of the browser
   * @returns undefined if the request is unknown, has expired, or belongs to another browser
   */
  nextStep(
    id: string,
    browserIds: readonly string[],
    session: BrowserSession | null,
    from: Client,
  ): Promise<NextStep | undefined>;
  /**
   * Stores the user's decision about the access that the client asks for.
   * @returns the URL that continues the request
   * @throws {ApiError} FORBIDDEN if the request is unknown, INVALID_CREDENTIALS if the user is not signed in
   */
  decide(
    id: string,
    browserIds: readonly string[],
    session: BrowserSession | null,
    allows: boolean,
    from: Client,
  ): Promise<string>;
}

interface Prompt {
  name: string;
  reasons: string[];
  details: { missingOIDCScope?: string[]; missingResourceScopes?: Record<string, string[]> };
}

interface Request {
  record: StoredRecord;
  params: Record<string, string | undefined>;
  prompt: Prompt;
  returnTo: string;
  client: LibraryClient;
}

/** The reasons for which an earlier sign-in is not enough. After a new one, the library compares the user with the hint again. */
const requiresNewProof: ReadonlySet<string> = new Set(['login_prompt', 'max_age', 'create_prompt', 'id_token_hint']);

export function createAuthorizationRequests(
  services: Services,
  running: () => Promise<RunningProvider>,
): AuthorizationRequests {
  const { db, clock, activity } = services;
  const hasSecondFactor = createHasSecondFactor(services);

  const find = async (id: string, from: Client): Promise<Request | undefined> => {
    const { records, findClient } = await running();
    const record = await records.find(id);
    if (record?.kind !== 'Interaction') return undefined;
    const { params, prompt, returnTo } = record.payload as Pick<Request, 'params' | 'prompt' | 'returnTo'>;
    const client = await findClient(params.client_id ?? '', from);
    return client && { record, params, prompt, returnTo, client };
  };

  const findOfBrowser = async (id: string, browserIds: readonly string[], from: Client) =>
    browserIds.includes(id) ? find(id, from) : undefined;

  /** Whether the browser has done what the client requires of a sign-in. */
  const isSignedInFor = async ({ record, prompt, params }: Request, session: BrowserSession): Promise<boolean> => {
    const { reasons } = prompt;
    if (session.isRestricted) return false;
    if (reasons.some((reason) => requiresNewProof.has(reason)) && session.authenticatedAt < record.created_at)
      return false;
    if (!params.acr_values?.split(' ').includes(secondFactorAcr)) return true;
    if ((await findSignIn(db, session.id))?.amr.includes('mfa')) return true;
    // Without a second factor, signing in again would not help. The provider then refuses the request.
    return !(await hasSecondFactor(session.user));
  };

  const accessOf = async ({ prompt, client }: Request): Promise<RequestedAccess> => {
    const { missingOIDCScope: scopes = [], missingResourceScopes: byResource = {} } = prompt.details;
    const { resources } = await running();
    const listed = await Promise.all(
      Object.entries(byResource).map(async ([identifier, list]) => ({
        identifier,
        name: (await resources.find(client, identifier))?.name ?? identifier,
        scopes: list.filter((scope) => scope !== impliedScope),
      })),
    );
    return { scopes: [...scopes], resources: listed };
  };

  return {
    clientOf: async (id, from) => {
      const request = await find(id, from);
      return request && displayedClient(request.client);
    },

    nextStep: async (id, browserIds, session, from) => {
      const request = await findOfBrowser(id, browserIds, from);
      if (!request) return undefined;
      const { prompt, params, returnTo, client } = request;
      const displayed = displayedClient(client);
      const locales = params.ui_locales?.split(' ').slice(0, 10) ?? [];
      if (prompt.name === 'consent') {
        if (!session) return { kind: 'continue', to: returnTo };
        const redirectHost = webUrl(params.redirect_uri ?? '')?.host ?? params.redirect_uri?.split(':', 1)[0] ?? '';
        const user = (await findSignIn(db, session.id))?.email ?? '';
        return { kind: 'consent', client: displayed, access: await accessOf(request), user, redirectHost, locales };
      }
      if (session && (await isSignedInFor(request, session))) return { kind: 'continue', to: returnTo };
      if (session?.isRestricted && !(await hasSecondFactor(session.user))) return { kind: 'set-up' };
      return {
        kind: 'sign-in',
        client: displayed,
        registers: prompt.name === 'create',
        again: session !== null,
        loginHint: params.login_hint,
        locales,
      };
    },

    decide: async (id, browserIds, session, allows, from) => {
      const request = await findOfBrowser(id, browserIds, from);
      if (request?.prompt.name !== 'consent') throw new ApiError('FORBIDDEN');
      if (!session || session.isRestricted) throw new ApiError('INVALID_CREDENTIALS');
      const { record, client, returnTo, prompt } = request;
      const refusal = { error: 'access_denied', error_description: 'the user declined the request' };
      const result: InteractionResults = allows ? { consent: {} } : refusal;
      await transact(db, async (tx) => {
        if (allows) {
          const { missingOIDCScope: scopes = [], missingResourceScopes: resources = {} } = prompt.details;
          const consent = consentTo(client, session.user, { scopes, resources });
          const grant = await saveGrant(tx, consent, clock());
          const event = { action: 'application_allow', collection: 'grants', item: grant.id } as const;
          await activity.record(tx, { userId: session.user, client: from }, [event]);
        }
        await updatePayload(tx, record.hash, { result });
      });
      return returnTo;
    },
  };
}

export function displayedClient(client: LibraryClient): DisplayedClient {
  const { name } = settingsOf(client);
  const host = isMetadataUrl(client.clientId) ? new URL(client.clientId).host : null;
  return { name, host, label: host ?? name };
}
