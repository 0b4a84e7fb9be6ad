import { sql } from 'drizzle-orm';
import { clients, oauthGrants, oauthRecords, sessions, users } from '../../schema.js';
import { type HolderRecord, namedBy, statementsFor } from '../access/principals.js';
import type { UnregisteredClients } from './provider-clients.js';
import { formerClients, isValid, unregisteredOf } from './records.js';

/** An access token of an application for the service's own API, and what determines its scopes now. */
export interface AccessTokenRecord {
  client: string;
  /** Its scopes when it was issued, separated by spaces. */
  scope: string | null;
  /** The thumbprint of the key that it is bound to (RFC 9449); null: it is a bearer token. */
  jkt: string | null;
  first_party: boolean;
  client_scopes: string[] | null;
  grant_scopes: string[];
  /** If the token was exchanged: the unregistered clients that received the earlier tokens. */
  former_clients: string[];
  /** What the settings say about unregistered clients. Null if this token and the earlier ones involve none. */
  unregistered: UnregisteredClients | null;
}

export interface AccessTokenLimits extends Record<string, string | number | null> {
  now: string;
  /** Maximum age of a session in milliseconds; null: no limit. */
  maxAge: number | null;
}

/**
 * The users of valid access tokens for the service's own API, by the hashes of these, whatever their status. Only registered clients can get
 * scopes for this API.
 */
export const holdersByAccessToken = statementsFor<HolderRecord & { token: AccessTokenRecord }, AccessTokenLimits>({
  sourceOf: (value) => sql`${namedBy(value('keys'), 'text')}
    join ${oauthRecords} r on r.hash = named.key and r.kind = 'AccessToken'
    join ${users} u on u.id = r."user" left join ${sessions} s on s.id = r.session join ${oauthGrants} g on g.id = r."grant"
    join ${clients} c on c.id = r.registered_client and ${isValid(sql`${value('now')}`, sql`${value('maxAge')}`)}`,
  columns: sql`, json_build_object('client', r.client, 'scope', r.payload->>'scope', 'jkt', r.payload->>'jkt',
      'first_party', c.first_party, 'client_scopes', c.scopes, 'grant_scopes', g.scopes,
      'former_clients', ${formerClients}, 'unregistered', ${unregisteredOf}) as token`,
  isVerifiedByPasskey: sql`coalesce(s.verified_by_passkey, false)`,
});
