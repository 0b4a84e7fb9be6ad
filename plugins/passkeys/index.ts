import { definePlugin } from '../platform/plugin.js';
import { createPasskeys, type Passkeys } from './service.js';

declare module '../platform/plugin.js' {
  interface Services {
    passkeys: Passkeys;
  }
}

/** `app.passkeys`: lets users manage their passkeys. */
export const passkeysPlugin = definePlugin('passkeys', (services) => ({ passkeys: createPasskeys(services) }));
