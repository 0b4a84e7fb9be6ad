/** The collections that permissions can apply to. */
export const permittedCollections = [
  'users',
  'roles',
  'policies',
  'permissions',
  'settings',
  'activity',
  'mails',
  'sessions',
] as const;
export type PermittedCollection = (typeof permittedCollections)[number];

/** A right to at least some of the items of a collection, or to the settings. */
export interface NeededRight {
  collection: PermittedCollection;
  action: 'create' | 'read' | 'update' | 'delete';
  /** Fields that one permission must include. Without them, any field is enough. */
  fields?: readonly string[];
  /** Only permissions without a rule and without a validation are sufficient. */
  unconditional?: true;
}

/** The rights that callers need before an operation reads their body or query. `nothing`: none, apart from what its access requires. */
export type Need = 'nothing' | 'administrator' | NeededRight;

/**
 * Who may call a route. `open`: anyone, and credentials are not checked. `anonymous`: anyone. `permission`: callers with
 * the required permissions, which the public policy can also grant. `authenticated`: only callers with a valid credential.
 */
export type RouteAccess = 'open' | 'anonymous' | 'permission' | 'authenticated';
