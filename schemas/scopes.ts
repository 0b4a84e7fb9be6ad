/** The scopes of OpenID Connect, with which clients request information about the user. */
export const openIdScopes = ['openid', 'profile', 'email', 'roles', 'groups', 'offline_access'] as const;

/** A scope (RFC 6749, 3.3). */
export const scopePattern = '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$';

const form = new RegExp(scopePattern);

/** Whether a text is a scope. */
export const isScope = (text: string): boolean => form.test(text);

/** The collections of the service's own API that scopes can name. */
export const scopedCollections = [
  'users',
  'roles',
  'policies',
  'permissions',
  'settings',
  'activity',
  'mails',
  'sessions',
  'clients',
  'resources',
] as const;

export type ScopedCollection = (typeof scopedCollections)[number];

/** What a scope can allow: an action on the items of a collection. */
export type ScopeAction = 'read' | 'create' | 'update' | 'delete';

/** The scope that an operation requires. */
export type OperationScope = `${ScopedCollection}:${ScopeAction}`;

/** The scopes of the service's own API: all of it, or one action or all actions on a collection. */
export const collectionScopes: readonly string[] = [
  '*',
  ...scopedCollections.flatMap((name) =>
    (['read', 'create', 'update', 'delete', '*'] as const).map((action) => `${name}:${action}`),
  ),
];

/** Whether one of these scopes allows an action on a collection. */
export const allowsAction = (scopes: readonly string[], collection: string, action: string): boolean =>
  ['*', `${collection}:*`, `${collection}:${action}`].some((scope) => scopes.includes(scope));

/** Collections of later versions. */
const futureScope = /^(events|webhooks):(read|create|update|delete|\*)$/;

/** Whether a scope has a meaning in the service itself, so that no other API can define it. */
export const isReservedScope = (scope: string): boolean =>
  openIdScopes.some((name) => name === scope) || collectionScopes.includes(scope) || futureScope.test(scope);

/**
 * The scope of a resource that declares none. The library issues no token without a scope, so it is added to requests, and removed again
 * from tokens and responses.
 */
export const impliedScope = 'urn:gatehouse:any';
