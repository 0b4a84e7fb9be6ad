import { patch, post } from '../../api/client.js';
import { changed } from '../../api/use-api.js';
import type { Access } from '../../app/access.js';
import { ask } from '../../components/dialog.js';
import type { IconName } from '../../components/icon.js';
import { askToResend } from '../../components/invite.js';
import { canReset, lacksPassword, requestLink } from '../../components/password-link.js';
import { nameOf } from '../../components/person.js';
import { toast } from '../../components/toast.js';
import { choiceText, t } from '../../texts.js';
import type { PartProps, UserItem } from './index.js';

/** Whether the caller may change a field to help a user: one in reach, and never themselves. */
export const mayChange = ({ canUse, me }: Access, { user, isInReach }: PartProps, field: string): boolean =>
  user.id !== me.id && isInReach && canUse('update', 'users', field);

/** An action that helps a user to sign in. False: the caller may not perform it, or it would not help this user. */
export type Help = { text: string; icon: IconName; onSelect: () => void } | false;

/** What helps a user to sign in. Each action asks for confirmation. */
export function helpFor(access: Access, props: PartProps): Record<'reset' | 'resend' | 'unlock' | 'activate', Help> {
  const { user, reload } = props;
  const { status } = user;
  const email = user.email ?? undefined;
  const mayChangeStatus = mayChange(access, props, 'status');
  return {
    reset: email !== undefined &&
      canReset(user) && {
        text: t('user_send_reset'),
        icon: 'email',
        onSelect: () => askToSendReset(access, user, email),
      },
    resend: email !== undefined &&
      status === 'invited' &&
      access.mayInvite && {
        text: t('user_resend_invitation'),
        icon: 'invitation',
        onSelect: () => askToResend({ email, name: nameOf(user, user.id), role: user.role?.id }),
      },
    unlock: mayChangeStatus &&
      user.locked_until !== null && {
        text: t('user_unlock'),
        icon: 'unlock',
        onSelect: () => askToUnlock(user, reload),
      },
    activate: mayChangeStatus &&
      status !== 'active' && {
        text: t('user_activate'),
        icon: 'check',
        onSelect: () => askToActivate(user, reload),
      },
  };
}

/** @param linkTo the address to which a link to set a password is sent */
export async function setStatus(
  user: UserItem,
  reload: () => void,
  next: NonNullable<UserItem['status']>,
  linkTo?: string,
): Promise<void> {
  const { id, status } = user;
  const params = { id };
  await patch('/users/{id}', { status: next }, { params });
  reload();
  void changed('users');
  if (linkTo !== undefined) await requestLink(linkTo);
  const said = [
    t('user_status_changed', { name: nameOf(user, id), status: choiceText(next) }),
    linkTo === undefined ? '' : t('user_send_reset_done', { email: linkTo }),
  ];
  toast(said.join(' ').trim(), {
    ...(status ? { undo: () => patch('/users/{id}', { status }, { params }).then(reload) } : {}),
  });
}

function askToActivate(user: UserItem, reload: () => void): void {
  const needsPassword = lacksPassword(user);
  const email = user.email ?? undefined;
  ask({
    title: t('user_activate_title', { name: nameOf(user, user.id) }),
    text: t(needsPassword ? 'user_activate_no_password' : 'user_activate_text'),
    action: t('user_activate'),
    isDangerous: false,
    option:
      needsPassword && email !== undefined
        ? { label: t('user_activate_link'), hint: t('user_activate_link_hint', { email }) }
        : undefined,
    act: (sendsLink) => setStatus(user, reload, 'active', needsPassword && sendsLink ? email : undefined),
  });
}

function askToSendReset({ can }: Access, user: UserItem, email: string): void {
  ask({
    title: t('user_send_reset_title', { name: nameOf(user, user.id) }),
    text: t(lacksPassword(user) ? 'user_send_reset_text_first' : 'user_send_reset_text', { email }),
    action: t('user_send_reset'),
    isDangerous: false,
    act: async () => {
      await requestLink(email);
      toast(
        t('user_send_reset_done', { email }),
        can('read', 'mails') ? { link: { href: `/users/${user.id}/emails`, text: t('nav_emails') } } : {},
      );
    },
  });
}

/** Lets a user sign in again who is locked out after too many failures. Asks for confirmation. */
function askToUnlock(user: UserItem, reload: () => void): void {
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
