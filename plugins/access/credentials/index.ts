import type { Services } from '../../platform/plugin.js';
import { createApplicationTokenResolver } from './application-token.js';
import type { CredentialResolver } from './resolver.js';
import { createSessionResolver } from './session.js';
import { createStaticTokenResolver } from './static-token.js';

/** The resolvers of all kinds of credentials, in the order in which they are asked whether a token is of their kind. */
export const createResolvers = (services: Services): readonly CredentialResolver[] => [
  createSessionResolver(services),
  createApplicationTokenResolver(services),
  // The last one, because any token could be a static token.
  createStaticTokenResolver(services),
];
