import type { Config } from '../../schemas/config.js';
import { ApiError } from '../../schemas/errors.js';
import { definePlugin } from '../platform/plugin.js';

/**
 * The ways in which users can sign in. The configuration rules some of them out for everyone, and the provider of a managed user rules
 * out all others for that user. What cannot sign a user in cannot prove their identity in a session either.
 *
 * This says nothing about whether the user has a password, a passkey, or an account at a provider.
 */
export interface SignInMethods {
  /** Whether the user's provider determines their role (`ROLE_MAPPING`), so that it alone signs them in. */
  isManaged(user: ProviderUser): boolean;
  /**
   * For changes to how a user signs in.
   * @param isOwn whether the caller is the user, and not an administrator
   * @throws {ApiError} FORBIDDEN for a managed user
   */
  requireUnmanaged(user: ProviderUser, isOwn?: boolean): void;
  allowsPassword(user: ProviderUser): boolean;
  allowsPasskey(user: ProviderUser): boolean;
  /** Does not depend on the setting `email_login`. */
  allowsEmail(user: ProviderUser): boolean;
  /** @param provider one that is linked to the user */
  allowsProvider(user: ProviderUser, provider: string): boolean;
  /** Whether an account at a provider that is linked to the user signs them in. Managed users sign in with the primary one only. */
  allowsIdentity(user: ProviderUser, identity: { provider: string; isPrimary: boolean }): boolean;
}

interface ProviderUser {
  /** The provider that the account belongs to, or `default`. */
  provider: string;
}

declare module '../platform/plugin.js' {
  interface Services {
    signInMethods: SignInMethods;
  }
}

export function createSignInMethods(
  config: Pick<Config, 'PROVIDERS' | 'AUTH_DISABLE_DEFAULT' | 'AUTH_PASSKEYS'>,
): SignInMethods {
  const configured = new Set(config.PROVIDERS.map(({ key }) => key));
  const managing = new Set(
    config.PROVIDERS.filter(({ ROLE_MAPPING: roles }) => roles.length > 0).map(({ key }) => key),
  );
  const isManaged: SignInMethods['isManaged'] = ({ provider }) => managing.has(provider);
  return {
    isManaged,
    requireUnmanaged: (user, isOwn = true) => {
      if (!isManaged(user)) return;
      const reason = isOwn
        ? 'Your account is managed by the provider that you log in with, so you cannot change how you log in'
        : "The account is managed by the provider that the user logs in with. Change the user's provider first";
      throw new ApiError('FORBIDDEN', { reason });
    },
    allowsPassword: ({ provider }) => !config.AUTH_DISABLE_DEFAULT && provider === 'default',
    allowsPasskey: (user) => config.AUTH_PASSKEYS && !isManaged(user),
    allowsEmail: (user) => !isManaged(user),
    allowsIdentity: (user, { provider, isPrimary }) => configured.has(provider) && (isPrimary || !isManaged(user)),
    allowsProvider: (user, provider) => configured.has(provider) && (!isManaged(user) || provider === user.provider),
  };
}

/** `app.signInMethods`: the ways in which users can sign in. */
export const signInMethodsPlugin = definePlugin('sign-in-methods', ({ config }) => ({
  signInMethods: createSignInMethods(config),
}));
