import { Secret, TOTP } from 'otpauth';
import type { Clock } from '../clock.js';
import type { SecretBox } from './secret-box.js';

export interface TwoFactor {
  /** Encrypts a base32 secret for keeping. */
  seal(secret: string): string;
  /**
   * The time step that a code belongs to: the present one or the one before; null when the code is wrong.
   * The caller stores the step and accepts a later one only, so that a code works once.
   * @param sealed the user's secret as it is kept
   */
  matchStep(sealed: string, code: string): number | null;
}

const period = 30;

/** TOTP: SHA-1, 6 digits, 30 seconds (RFC 6238; contract 2.1). */
export function createTwoFactor({ box, clock }: { box: SecretBox; clock: Clock }): TwoFactor {
  return {
    seal: (secret) => box.seal(secret),

    matchStep: (sealed, code) => {
      if (!/^\d{6}$/.test(code)) return null;
      const totp = new TOTP({ secret: Secret.fromBase32(box.open(sealed)), algorithm: 'SHA1', digits: 6, period });
      const now = clock().getTime();
      const present = Math.floor(now / 1000 / period);
      for (const step of [present, present - 1]) {
        const delta = totp.validate({ token: code, timestamp: step * period * 1000, window: 0 });
        if (delta !== null) return step;
      }
      return null;
    },
  };
}
