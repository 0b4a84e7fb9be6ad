import type { ClientRecord } from '../../../db/queries/applications/provider-clients.js';
import type { StoredRecord } from '../../../db/queries/applications/records.js';
import { findClaims } from '../../../db/queries/applications/sign-ins.js';
import { uuidPattern } from '../../../schemas/common.js';
import type { Client } from '../../http/caller.js';
import { isOpaqueAccessToken } from '../../tokens/opaque-access-tokens.js';
import { claimsByScope } from './claims.js';
import { type ClientDirectory, isMetadataUrl, isSecretAmong, mayIntrospect } from './clients.js';
import { withoutImplied } from './configuration.js';
import type { ProviderServices } from './exchange.js';
import { accessOf } from './grants.js';
import type { ProtocolRequest, ProtocolResponse } from './provider.js';
import type { ProviderRecords } from './records.js';
import type { ResourceTokens } from './resource-tokens.js';

/**
 * Responds to the two requests that applications and APIs send most often: userinfo with a bearer token, and the introspection of a token
 * by a client with a secret. For these requests, the library uses several times as much processor time as the rest of the code combined.
 *
 * Only a valid token gets a response here, and only in a plain request. Every other request, and every refusal, is left to the library, so
 * the errors that the standards define are produced in only one place.
 */
export interface ValidTokens {
  /** OpenID Connect Core, 5.3. @returns undefined if the library must respond */
  userInfo(request: ProtocolRequest): Promise<ProtocolResponse | undefined>;
  /** RFC 7662. @returns undefined if the library must respond */
  introspect(request: ProtocolRequest, caller: Client): Promise<ProtocolResponse | undefined>;
}

interface Parts {
  issuer: string;
  records: ProviderRecords;
  clients: ClientDirectory;
  tokens: ResourceTokens;
}

/** What the library stores in a token, as far as it is used here. */
interface TokenPayload {
  clientId?: string;
  accountId?: string;
  grantId?: string;
  aud?: string;
  scope?: string;
  claims?: object;
  jkt?: string;
  sid?: string;
  iat?: number;
  exp?: number;
  extra?: object;
}

export function createValidTokens({ db }: ProviderServices, { issuer, records, clients, tokens }: Parts): ValidTokens {
  /** The token with this handle, of a registered client. Undefined for a token that is bound to a key (RFC 9449) or has been used. */
  const find = async (handle: string): Promise<(StoredRecord & { payload: TokenPayload }) | undefined> => {
    const record = await records.find(handle);
    if (!record || record.consumed_ago !== null) return undefined;
    const { clientId, accountId, grantId, jkt }: TokenPayload = record.payload;
    if (clientId === undefined || isMetadataUrl(clientId) || jkt !== undefined) return undefined;
    const { grant_record: grant } = record;
    if (grantId !== undefined && (grant?.client !== clientId || grant.user !== accountId)) return undefined;
    return record;
  };

  const authenticate = async (authorization: string, { network }: Client): Promise<ClientRecord | undefined> => {
    const { id, secret } = basicCredentials(authorization) ?? {};
    if (id === undefined || secret === undefined || !uuidPattern.test(id)) return undefined;
    const client = await clients.find(id, network);
    if (client?.id !== id || client.type !== 'confidential') return undefined;
    return client.attempts === null && isSecretAmong(client.secrets, secret) ? client : undefined;
  };

  return {
    userInfo: async ({ method, url, headers }) => {
      const token = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1] ?? '';
      if (method !== 'GET' || url.includes('?') || !isPlain(headers) || !isOpaqueAccessToken(token)) return undefined;
      const record = await find(token);
      if (record?.kind !== 'AccessToken' || !record.grant_record) return undefined;
      const { clientId, accountId, aud, scope, claims } = record.payload;
      const scopes = scope?.split(' ') ?? [];
      if (!clientId || !accountId || aud !== undefined || claims !== undefined) return undefined;
      const client = scopes.includes('openid') && (await clients.find(clientId));
      if (!client) return undefined;
      const granted = new Set(accessOf(record.grant_record, client).scopes);
      const names = scopes.filter((each) => granted.has(each)).flatMap((each) => claimsOfScope[each] ?? []);
      const known = names.some((name) => !aboutSignIn.has(name)) ? await findClaims(db, accountId) : {};
      const values: Record<string, unknown> = { ...known, sub: accountId };
      return json(Object.fromEntries(names.flatMap((name) => (name in values ? [[name, values[name]]] : []))));
    },

    introspect: async ({ method, url, headers, body }, caller) => {
      const isForm = formType.test(headers['content-type'] ?? '');
      if (method !== 'POST' || url.includes('?') || !isForm || !isPlain(headers)) return undefined;
      const form = new URLSearchParams(body.toString());
      const token = form.get('token');
      // The hint changes nothing, because all kinds of tokens are found in the same way.
      const hints = form.getAll('token_type_hint').length;
      if (token === null || hints > 1 || form.size !== 1 + hints) return undefined;
      const client = await authenticate(headers.authorization ?? '', caller);
      const record = client && (await find(await tokens.handleOf(token)));
      if (!record || !introspectable.has(record.kind)) return undefined;
      if (!mayIntrospect(client, client.id, record.payload)) return undefined;
      const { clientId, accountId, aud, scope, sid, iat, exp, extra } = record.payload;
      return json({
        active: true,
        sub: accountId,
        ...extra,
        client_id: clientId,
        exp,
        iat,
        sid,
        iss: issuer,
        aud,
        scope: withoutImplied(scope),
        token_type: record.kind === 'RefreshToken' ? undefined : 'Bearer',
      });
    },
  };
}

/** The ID and the secret of a client (RFC 6749, 2.3.1); undefined if they are not encoded as usual. */
function basicCredentials(authorization: string): { id: string; secret: string } | undefined {
  const [, encoded = ''] = /^Basic ([A-Za-z0-9+/]+={0,2})$/.exec(authorization) ?? [];
  if (encoded.length % 4 !== 0) return undefined;
  const parts = /^([^:]+):([^:]+)$/.exec(Buffer.from(encoded, 'base64').toString());
  try {
    const [id, secret] = parts?.slice(1).map((part) => decodeURIComponent(part.replaceAll('+', '%20'))) ?? [];
    if (id === undefined || secret === undefined || /[^ -~]/.test(secret)) return undefined;
    return { id, secret };
  } catch {
    return undefined;
  }
}

const formType = /^application\/x-www-form-urlencoded(?:; ?charset=utf-8)?$/i;
const introspectable = new Set(['AccessToken', 'ClientCredentials', 'RefreshToken']);
const claimsOfScope: Record<string, readonly string[] | null> = claimsByScope;
/** The claims of the scope `openid`, which are not read from the user. Except for `sub`, they appear only in ID tokens. */
const aboutSignIn = new Set<string>(claimsByScope.openid);

/** Whether the request has neither an `Origin` header (CORS) nor a DPoP proof (RFC 9449). */
const isPlain = ({ origin, dpop }: ProtocolRequest['headers']) => origin === undefined && dpop === undefined;

const json = (body: object): ProtocolResponse => ({
  status: 200,
  headers: { 'content-type': 'application/json; charset=utf-8', vary: 'Origin' },
  body: JSON.stringify(body),
});
