import { post } from '../../api/client.js';
import { changed } from '../../api/use-api.js';
import { ask } from '../../components/dialog.js';
import { nameOf } from '../../components/person.js';
import { toast } from '../../components/toast.js';
import { t } from '../../texts.js';
import type { UserItem } from './index.js';

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

/** Removes the authenticator app of a user who has lost it. Asks for confirmation. */
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
