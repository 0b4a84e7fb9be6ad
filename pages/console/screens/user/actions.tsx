import { useLocation } from 'wouter-preact';
import { remove } from '../../api/client.js';
import { changed } from '../../api/use-api.js';
import { useTrial } from '../../api/use-trial.js';
import { useAccess } from '../../app/access.js';
import { ask } from '../../components/dialog.js';
import { Menu } from '../../components/menu.js';
import { toast } from '../../components/toast.js';
import { t } from '../../texts.js';
import { askToResetSecondFactor, helpFor, mayChange, setStatus } from './help.js';
import type { PartProps } from './index.js';

interface Props extends PartProps {
  name: string;
}

/** What can be done with a user. */
export function Actions(props: Props) {
  const { user, name, isInReach, reload } = props;
  const access = useAccess();
  const { can, canAll, me } = access;
  const [, navigate] = useLocation();
  const { id, status } = user;
  const mayDelete = can('delete', 'users') && id !== me.id && isInReach;
  const isDeletable = useTrial(mayDelete && !canAll('delete', 'users') ? id : undefined, () =>
    remove('/users', { keys: [id] }, { query: { dry_run: true } }),
  );
  const help = helpFor(access, props);
  return (
    <Menu
      label={t('user_actions')}
      isLabelShown
      icon="down"
      items={[
        help.reset,
        help.resend,
        help.unlock,
        mayChange(access, props, 'tfa_secret') &&
          typeof user.tfa_secret === 'string' && {
            text: t('user_tfa_reset_action'),
            icon: 'shield',
            onSelect: () => askToResetSecondFactor(user, reload),
          },
        help.activate,
        mayChange(access, props, 'status') &&
          status !== 'suspended' && {
            text: t('user_suspend'),
            icon: 'lock',
            isDangerous: true,
            onSelect: () =>
              ask({
                title: t('user_suspend_title', { name }),
                text: t('user_suspend_text'),
                action: t('user_suspend'),
                act: () => setStatus(user, reload, 'suspended'),
              }),
          },
        mayDelete &&
          isDeletable && {
            text: t('user_delete'),
            icon: 'trash',
            isDangerous: true,
            onSelect: () =>
              ask({
                title: t('user_delete_title', { name }),
                text: t('user_delete_text', { email: user.email ?? id }),
                action: t('user_delete'),
                act: async () => {
                  await remove('/users/{id}', undefined, { params: { id } });
                  void changed('users');
                  toast(t('user_delete_done', { name }));
                  navigate('/users', { replace: true });
                },
              }),
          },
      ]}
    />
  );
}
