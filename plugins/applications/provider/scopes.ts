import { collectionScopes, openIdScopes } from '../../../schemas/scopes.js';

/** The value of `acr_values` with which a client requires a second factor. */
export const secondFactorAcr = 'urn:gatehouse:mfa';

/** Whether a scope is not that of a resource. */
export const isOwnScope = (scope: string): boolean =>
  openIdScopes.some((name) => name === scope) || collectionScopes.includes(scope);
