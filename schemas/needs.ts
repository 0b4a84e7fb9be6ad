/** A right to some of the items of a collection, or to the settings. */
export interface NeededRight {
  collection: 'users' | 'roles' | 'policies' | 'permissions' | 'settings';
  action: 'create' | 'read' | 'update' | 'delete';
  /** Fields that one permission must include. Without them, any field is enough. */
  fields?: readonly string[];
  /** Only permissions without a rule and without a validation are sufficient. */
  unconditional?: true;
}

/** What callers need before an operation reads their body or query. `nothing`: it is for every caller that its access admits. */
export type Need = 'nothing' | 'administrator' | NeededRight;

/**
 * Who may call a route. `open`: anyone, and no credential is looked at. `anonymous`: anyone. `permission`: whoever has
 * the permissions for it, be it by the public policy. `authenticated`: only who proves who they are.
 */
export type RouteAccess = 'open' | 'anonymous' | 'permission' | 'authenticated';
