import { keysFor } from '../platform/key-derivation.js';
import { definePlugin } from '../platform/plugin.js';
import { createChallenges } from './challenges.js';
import { createPasskeyProofs, type PasskeyProofs } from './proofs.js';
import { createWebAuthn, type WebAuthn } from './service.js';

declare module '../platform/plugin.js' {
  interface Services {
    webauthn: WebAuthn;
    passkeyProofs: PasskeyProofs;
    /** The origins for `/.well-known/webauthn`; null if all of them are in the domain of the RP ID. */
    relatedOrigins: readonly string[] | null;
  }
}

/** `app.webauthn`: the ceremonies of WebAuthn. `app.passkeyProofs`: checks and uses signatures with passkeys. */
export const webauthnPlugin = definePlugin('webauthn', (services) => {
  const { config, clock } = services;
  const { WEBAUTHN_RP_ID: rpId } = config;
  const origins = [...new Set([new URL(config.PUBLIC_URL).origin, ...config.WEBAUTHN_ORIGINS])];
  const challenges = createChallenges(keysFor(config, 'passkey-challenge'), clock);
  const webauthn = createWebAuthn({ challenges, rpId, origins });

  // The origins of apps are not related origins: browsers accept only web origins in the list.
  const pages = origins.filter((origin) => /^https?:/.test(origin));
  const isOutside = (origin: string) => {
    const { hostname } = new URL(origin);
    return hostname !== rpId && !hostname.endsWith(`.${rpId}`);
  };
  return {
    webauthn,
    passkeyProofs: createPasskeyProofs(services, webauthn),
    relatedOrigins: pages.some(isOutside) ? pages : null,
  };
});
