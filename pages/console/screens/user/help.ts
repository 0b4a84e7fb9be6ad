import { post } from '../../api/client.js';
import { changed } from '../../api/use-api.js';
import type { Access } from '../../app/access.js';
import { ask } from '../../components/dialog.js';
import { nameOf } from '../../components/person.js';
import { toast } from '../../components/toast.js';
import { t } from '../../texts.js';
import type { PartProps, UserItem } from './index.js';

/** Whether the caller may change a field to help a user: one in reach, and never themselves. */
export const mayChange = ({ canUse, me }: Access, { user, isInReach }: PartProps, field: string): boolean =>
  user.id !== me.id && isInReach && canUse('update', 'users', field);

/** Lets a user sign in again who is locked out after too many failures. Asks for confirmation. */
export function askToUnlock(user: UserItem, reload: () => void): void {
  const name = nameOf(user, user.id);
  ask({
    title: t('user_unlock_title', { name }),
    text: t('user_unlock_text'),
    action: t('user_unlock'),
    isDangerous: false,
    act: async () => {
      await post('/users/{id}/unlock', undefined, { params: { id: user.id } });
      reload();
      toast(t('user_unlock_done', { name }));
    },
  });
}

/** Turns off two-factor authentication for a user who can no longer use their authenticator app. Asks for confirmation. */
export function askToResetSecondFactor(user: UserItem, reload: () => void): void {
  const name = nameOf(user, user.id);
  ask({
    title: t('user_tfa_reset_title', { name }),
    text: t('user_tfa_reset_text'),
    action: t('user_tfa_reset'),
    act: async () => {
      await post('/users/{id}/tfa/disable', undefined, { params: { id: user.id } });
      reload();
      void changed('sessions');
      toast(t('user_tfa_reset_done', { name }));
    },
  });
}
