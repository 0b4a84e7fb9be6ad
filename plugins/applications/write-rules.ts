import type { Executor } from '../../db/client.js';
import {
  type ClientCombination,
  insertClientSecrets,
  lockResources,
  readClientCombinations,
} from '../../db/queries/applications/clients.js';
import { hasDeclared } from '../../db/queries/applications/declared.js';
import { collections, type ValueField } from '../../db/query-language/collections.js';
import {
  identifierRule,
  originRule,
  publicUrlRule,
  redirectUriRule,
  type UriRule,
  webUrlRule,
} from '../../schemas/client-uris.js';
import { clientTypes, grantTypes, idTokenAlgorithms, tokenExchange } from '../../schemas/clients.js';
import { readLifetime } from '../../schemas/config-values.js';
import { ApiError } from '../../schemas/errors.js';
import { isReservedScope, isScope } from '../../schemas/scopes.js';
import { invalidPayload, readValue, type SpecialFields } from '../items/payload.js';
import { checkUnique } from '../items/reference-checks.js';
import { oneOf } from '../items/rules.js';
import type { Change, WriteRules } from '../items/write-engine.js';
import type { Services } from '../platform/plugin.js';
import { newClientSecret } from './secrets.js';

type Collection = 'clients' | 'resources';

/** The rule that a value violates; undefined: none. */
type Violation = { type: string; valid?: unknown } | undefined;

const fieldOf = (name: Collection, field: string) => collections[name].fields.get(field) as ValueField;

/** A text or a list of texts, each of which must follow a rule. The texts are stored exactly as they were entered. */
const checked = (name: Collection, field: string, violationOf: (text: string) => Violation): SpecialFields => ({
  [field]: (value, { columns }) => {
    const read = readValue(collections[name], field, fieldOf(name, field), value) as string | string[] | null;
    for (const text of [read ?? []].flat()) {
      const violation = violationOf(text);
      if (violation) throw new ApiError('FAILED_VALIDATION', { field, path: [], ...violation, invalid: text });
    }
    columns[field] = read;
  },
});

const byUriRule =
  (ruleOf: (text: string) => UriRule | undefined) =>
  (text: string): Violation => {
    const type = ruleOf(text);
    return type && { type };
  };

const among =
  (values: readonly string[]) =>
  (text: string): Violation =>
    values.includes(text) ? undefined : { type: 'in', valid: values };

const [minute, day] = [60_000, 86_400_000];
const accessLifetime = lifetimeBetween('1m', minute, '1d', day);
const refreshLifetime = lifetimeBetween('5m', 5 * minute, '365d', 365 * day);

function lifetimeBetween(shortest: string, minimum: number, longest: string, maximum: number) {
  return (text: string): Violation => {
    const lifetime = readLifetime(text) ?? 0;
    return lifetime >= minimum && lifetime <= maximum ? undefined : { type: 'duration', valid: [shortest, longest] };
  };
}

const scope = (text: string): Violation => (isScope(text) ? undefined : { type: 'scope' });
const scopeOfResource = (text: string): Violation =>
  scope(text) ?? (isReservedScope(text) ? { type: 'reserved_scope' } : undefined);

/** How the fields of clients are validated, if their type is not enough. */
export const clientFields: SpecialFields = {
  ...Object.fromEntries([
    oneOf('type', 'type', clientTypes),
    oneOf('id_token_signed_response_alg', 'id_token_signed_response_alg', idTokenAlgorithms),
  ]),
  ...checked('clients', 'logo_uri', byUriRule(publicUrlRule)),
  ...checked('clients', 'redirect_uris', byUriRule(redirectUriRule)),
  ...checked('clients', 'post_logout_redirect_uris', byUriRule(redirectUriRule)),
  ...checked('clients', 'allowed_origins', byUriRule(originRule)),
  ...checked('clients', 'backchannel_logout_uri', byUriRule(webUrlRule)),
  ...checked('clients', 'grant_types', among(grantTypes)),
  ...checked('clients', 'scopes', scope),
  ...checked('clients', 'access_token_ttl', accessLifetime),
  ...checked('clients', 'refresh_token_ttl', refreshLifetime),
};

/** How the fields of resources are validated, if their type is not enough. */
export const resourceFields: SpecialFields = {
  ...checked('resources', 'identifier', byUriRule(identifierRule)),
  ...checked('resources', 'scopes', scopeOfResource),
  ...checked('resources', 'access_token_ttl', accessLifetime),
};

/** The fields of a new client that were not provided. */
export const clientDefaults = {
  redirect_uris: [],
  post_logout_redirect_uris: [],
  allowed_origins: [],
  grant_types: ['authorization_code', 'refresh_token'],
  resources: [],
  first_party: false,
  minimal_id_token: false,
  id_token_signed_response_alg: 'RS256',
  pkce_required: true,
};

/** The fields of a new resource that were not provided. */
export const resourceDefaults = { scopes: [], access_token_ttl: '10m', open_to_unregistered: false };

export const requiredOfClient = ['name', 'type'] as const;
export const requiredOfResource = ['identifier', 'name'] as const;

/** Why the fields of a client do not fit together; undefined if they do. */
export function combinationFault({
  type,
  redirect_uris: redirectUris,
  grant_types: grants,
  first_party: isFirstParty,
  pkce_required: isPkceRequired,
}: Omit<ClientCombination, 'id'>): { field: string; reason: string } | undefined {
  const has = (grant: (typeof grantTypes)[number]) => grants.includes(grant);
  const isConfidential = type === 'confidential';
  if (has('authorization_code') && redirectUris.length === 0)
    return { field: 'redirect_uris', reason: 'must not be empty if grant_types contains authorization_code' };
  if (has('client_credentials') && !isConfidential)
    return { field: 'grant_types', reason: 'can contain client_credentials only if type is confidential' };
  if (has(tokenExchange) && !(isConfidential && isFirstParty))
    return {
      field: 'grant_types',
      reason: `can contain ${tokenExchange} only if type is confidential and first_party is true`,
    };
  if (!isPkceRequired && !isConfidential) return { field: 'pkce_required', reason: 'must be true if type is public' };
  return undefined;
}

/** Resources that do not exist are rejected. Those that do cannot be renamed or deleted until the transaction ends. */
async function requireResources(tx: Executor, changes: readonly Change[]): Promise<void> {
  const named = changes.flatMap(({ payload }) => (payload.columns.resources as string[] | undefined) ?? []);
  const existing = await lockResources(tx, [...new Set(named)]);
  const unknown = named.find((identifier) => !existing.has(identifier));
  if (unknown !== undefined)
    throw new ApiError('INVALID_FOREIGN_KEY', { collection: 'clients', field: 'resources', value: unknown });
}

/** @throws {ApiError} UNPROCESSABLE_CONTENT if the configuration declares one of the items, because the next start would undo the change */
async function requireUndeclared(tx: Executor, name: Collection, changes: readonly Change[]): Promise<void> {
  const keys = changes.flatMap((change) => change.keys);
  if (await hasDeclared(tx, name, keys))
    throw new ApiError('UNPROCESSABLE_CONTENT', {
      reason: `Items of ${name} that are declared in CLIENTS cannot be changed here. Change CLIENTS, and restart the service.`,
    });
}

/** A public client has no secret, and users of an app cannot be given one, so the type is chosen once. */
async function requireSameType(tx: Executor, changes: readonly Change[]): Promise<void> {
  const typed = changes.filter(({ payload }) => payload.columns.type !== undefined);
  const stored = await readClientCombinations(
    tx,
    typed.flatMap(({ keys }) => keys),
  );
  const types = new Map(stored.map(({ id, type }) => [id, type]));
  const isChanged = typed.some(({ keys, payload }) =>
    keys.some((key) => types.get(String(key)) !== payload.columns.type),
  );
  if (isChanged) throw invalidPayload('type cannot be changed. Create another client instead.');
}

const nothingSpecial = {
  adminOnly: new Set<string>(),
  costly: new Set<string>(),
  affectsAdministrators: new Set<string>(),
  affectsRights: new Set<string>(),
};

/** The rules specific to writing clients. */
export function createClientWriteRules({ clock, stepUp }: Services): WriteRules {
  return {
    ...nothingSpecial,
    special: clientFields,
    defaults: clientDefaults,
    required: () => requiredOfClient,

    check: async (tx, caller, changes, action) => {
      if (action !== 'create') await requireUndeclared(tx, 'clients', changes);
      if (action === 'delete') return;
      const getsSecret = action === 'create' && changes.some(({ payload }) => payload.columns.type === 'confidential');
      if (getsSecret) await stepUp.requireFreshAdministrator(caller, tx);
      if (action === 'update') await requireSameType(tx, changes);
      await requireResources(tx, changes);
    },

    after: async (tx, _caller, changes, action) => {
      // An update can contain some of the fields only, so the stored rows are checked.
      const written = await readClientCombinations(
        tx,
        changes.flatMap(({ keys }) => keys),
      );
      for (const client of written) {
        const fault = combinationFault(client);
        if (fault) throw invalidPayload(`${fault.field} ${fault.reason}`);
      }
      if (action === 'update') return undefined;
      const confidential = written.filter(({ type }) => type === 'confidential');
      const made = confidential.map(({ id }) => ({ id, ...newClientSecret() }));
      const createdAt = clock();
      await insertClientSecrets(
        tx,
        made.map(({ id, hash }) => ({ client: id, hash, createdAt })),
      );
      return new Map(made.map(({ id, secret }) => [id, { secret }]));
    },
  };
}

/** The rules specific to writing resources. */
export const resourceWriteRules: WriteRules = {
  ...nothingSpecial,
  special: resourceFields,
  defaults: resourceDefaults,
  required: () => requiredOfResource,
  check: async (tx, _caller, changes, action) => {
    if (action !== 'create') await requireUndeclared(tx, 'resources', changes);
    if (action === 'delete') return;
    await checkUnique(
      tx,
      collections.resources,
      changes,
      'identifier',
      'identifier',
      'exact',
      ({ input }) => input.identifier,
    );
  },
};
