import { openIdScopes } from '../../../schemas/scopes.js';
import { permittedCollections } from '../../items/rules.js';

/** The scopes for the service's own API: all of it, or an action on the items of a collection. */
export const collectionScopes: readonly string[] = [
  '*',
  ...permittedCollections.flatMap((name) =>
    ['read', 'create', 'update', 'delete', '*'].map((action) => `${name}:${action}`),
  ),
];

/** The value of `acr_values` with which a client requires a second factor. */
export const secondFactorAcr = 'urn:gatehouse:mfa';

/** Whether a scope is not that of a resource. */
export const isOwnScope = (scope: string): boolean =>
  openIdScopes.some((name) => name === scope) || collectionScopes.includes(scope);
