/** The scopes of OpenID Connect, with which clients request information about the user. */
export const openIdScopes = ['openid', 'profile', 'email', 'roles', 'groups', 'offline_access'] as const;

/** A scope (RFC 6749, 3.3). */
export const scopePattern = '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$';

const form = new RegExp(scopePattern);

/** Whether a text is a scope. */
export const isScope = (text: string): boolean => form.test(text);

/** The scopes of the service's own API: an action on one of its collections, or everything. */
const ownScope =
  /^(\*|(users|roles|policies|permissions|settings|activity|mails|sessions|events|clients|resources|webhooks):(read|create|update|delete|\*))$/;

/** Whether a scope has a meaning in the service itself, so that no other API can define it. */
export const isReservedScope = (scope: string): boolean =>
  openIdScopes.some((name) => name === scope) || ownScope.test(scope);

/**
 * The scope of a resource that declares none. The library issues no token without a scope, so it is added to requests, and removed again
 * from tokens and responses.
 */
export const impliedScope = 'urn:gatehouse:any';
