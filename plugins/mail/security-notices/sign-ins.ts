import { randomUUID } from 'node:crypto';
import type { Executor } from '../../../db/client.js';
import { type Client, deviceOf } from '../../http/caller.js';
import type { Services } from '../../platform/plugin.js';

type Alert = 'new_sign_in' | 'wrong_code' | 'failed_logins';

/**
 * Notifies users of sign-ins from a new network or with a new device, of wrong codes after the correct password, and of many failed
 * sign-ins. Attackers can cause these emails, so a user gets at most one of each kind per hour (`mayAlert`).
 * @param notMeUrl the page where users can end all sessions and request a new password
 */
export function notifyOfSignIns({ db, clock, mail, activity }: Services, notMeUrl: string): void {
  /** @param user null if there is no such user. The same work is done then, so that the time does not reveal this. */
  const sendAlert = (tx: Executor, alert: Alert, user: string | null, client: Client): Promise<void> =>
    mail.enqueue(tx, {
      kind: 'notice',
      user: user ?? randomUUID(),
      email: null,
      changes: [alert],
      at: clock().toISOString(),
      isOwn: true,
      device: deviceOf(client.userAgent),
      provider: null,
      url: notMeUrl,
    });

  activity.addListener({
    actions: new Set(['lock', 'login']),
    mayFollowLogin: true,
    onRecord: async (tx, origin, events) => {
      if (!origin) return;
      for (const { action, item, details } of events) {
        const user = typeof item === 'string' ? item : null;
        if (action === 'lock') await sendAlert(tx, 'failed_logins', user, origin.client);
        else if (details?.isUnfamiliar) await sendAlert(tx, 'new_sign_in', user, origin.client);
      }
    },
    onRefusal: async ({ client }, { action, item }, code, reason) => {
      // A code is checked only after the password, or what replaces it, was correct.
      const isWrongCode = action === 'login' && code === 'INVALID_OTP' && reason === 'wrong_code';
      if (isWrongCode && typeof item === 'string') await sendAlert(db, 'wrong_code', item, client);
    },
  });
}
