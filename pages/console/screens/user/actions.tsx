import { useLocation } from 'wouter-preact';
import { patch, remove } from '../../api/client.js';
import { changed } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { ask } from '../../components/dialog.js';
import { askToResend } from '../../components/invite.js';
import { Menu } from '../../components/menu.js';
import { canReset, lacksPassword, requestLink } from '../../components/password-link.js';
import { toast } from '../../components/toast.js';
import { choiceText, t } from '../../texts.js';
import { askToResetSecondFactor, askToUnlock, mayChange } from './help.js';
import type { PartProps, UserItem } from './index.js';

interface Props extends PartProps {
  name: string;
}

/** What can be done with a user. */
export function Actions(props: Props) {
  const { user, name, isInReach, reload } = props;
  const access = useAccess();
  const { can, me } = access;
  const [, navigate] = useLocation();
  const { id, status } = user;
  const email = user.email ?? undefined;
  const params = { id };
  const mayAct = id !== me.id && isInReach;

  /** @param linkTo the address to which a link to set a password is sent */
  const setStatus = async (next: NonNullable<UserItem['status']>, linkTo?: string) => {
    await patch('/users/{id}', { status: next }, { params });
    reload();
    void changed('users');
    if (linkTo !== undefined) await requestLink(linkTo);
    const said = [
      t('user_status_changed', { name, status: choiceText(next) }),
      linkTo === undefined ? '' : t('user_send_reset_done', { email: linkTo }),
    ];
    toast(said.join(' ').trim(), {
      ...(status ? { undo: () => patch('/users/{id}', { status }, { params }).then(reload) } : {}),
    });
  };
  const needsPassword = lacksPassword(user);
  const mayChangeStatus = mayChange(access, props, 'status');
  return (
    <Menu
      label={t('user_actions')}
      isLabelShown
      icon="down"
      items={[
        email !== undefined &&
          canReset(user) && {
            text: t('user_send_reset'),
            icon: 'email',
            onSelect: () =>
              ask({
                title: t('user_send_reset_title', { name }),
                text: t('user_send_reset_text', { email }),
                action: t('user_send_reset'),
                isDangerous: false,
                act: async () => {
                  await requestLink(email);
                  toast(
                    t('user_send_reset_done', { email }),
                    can('read', 'mails') ? { link: { href: '/emails', text: t('nav_emails') } } : {},
                  );
                },
              }),
          },
        email !== undefined &&
          status === 'invited' &&
          access.mayInvite && {
            text: t('user_resend_invitation'),
            icon: 'invitation',
            onSelect: () => askToResend({ email, name, role: user.role?.id }),
          },
        mayChangeStatus &&
          user.locked_until !== null && {
            text: t('user_unlock'),
            icon: 'unlock',
            onSelect: () => askToUnlock(user, reload),
          },
        mayChange(access, props, 'tfa_secret') &&
          typeof user.tfa_secret === 'string' && {
            text: t('user_tfa_reset_action'),
            icon: 'shield',
            onSelect: () => askToResetSecondFactor(user, reload),
          },
        mayChangeStatus &&
          status !== 'active' && {
            text: t('user_activate'),
            icon: 'check',
            onSelect: () =>
              ask({
                title: t('user_activate_title', { name }),
                text: t(needsPassword ? 'user_activate_no_password' : 'user_activate_text'),
                action: t('user_activate'),
                isDangerous: false,
                option:
                  needsPassword && email !== undefined
                    ? { label: t('user_activate_link'), hint: t('user_activate_link_hint', { email }) }
                    : undefined,
                act: (sendsLink) => setStatus('active', needsPassword && sendsLink ? email : undefined),
              }),
          },
        mayChangeStatus &&
          status !== 'suspended' && {
            text: t('user_suspend'),
            icon: 'lock',
            isDangerous: true,
            onSelect: () =>
              ask({
                title: t('user_suspend_title', { name }),
                text: t('user_suspend_text'),
                action: t('user_suspend'),
                act: () => setStatus('suspended'),
              }),
          },
        mayAct &&
          can('delete', 'users') && {
            text: t('user_delete'),
            icon: 'trash',
            isDangerous: true,
            onSelect: () =>
              ask({
                title: t('user_delete_title', { name }),
                text: t('user_delete_text', { email: email ?? id }),
                action: t('user_delete'),
                act: async () => {
                  await remove('/users/{id}', undefined, { params });
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
