import { definePlugin } from '../platform/plugin.js';
import { createTwoFactor, type TwoFactor } from './service.js';

declare module '../platform/plugin.js' {
  interface Services {
    tfa: TwoFactor;
  }
}

/** `app.tfa`: lets users set up two-factor authentication, and turn it off. */
export const tfaPlugin = definePlugin('tfa', (services) => ({ tfa: createTwoFactor(services) }));
