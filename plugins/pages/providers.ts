import type { ListedProvider } from '../../schemas/providers.js';

/** A provider as the pages show it. */
export interface OfferedProvider {
  name: string;
  label: string;
  icon: string;
  /** Whether users can sign in with it on these pages. */
  session: boolean;
  /** Whether a first login creates an account. */
  registers: boolean;
  /** Whether it manages its users, who then cannot sign in any other way. */
  managed: boolean;
}

/** The providers whose logo the pages contain. */
const logos = new Set([
  'google',
  'microsoft',
  'apple',
  'github',
  'gitlab',
  'discord',
  'facebook',
  'okta',
  'auth0',
  'keycloak',
]);

/** How the pages show a provider: with a label, and with its logo if they have it. */
export function appearanceOf({ name, label = name, icon = name }: ListedProvider) {
  const known = [icon, name].find((wanted) => logos.has(wanted.toLowerCase()));
  return { name, label, icon: known?.toLowerCase() ?? 'other' };
}
