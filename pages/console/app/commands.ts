import type { IconName } from '../components/icon.js';
import type { TextKey } from '../texts.js';
import type { Access } from './access.js';

interface Command {
  text: TextKey;
  icon: IconName;
  /** Where the screen opens a form. */
  href: string;
  /** Whether the user may do it. */
  isOpenTo(access: Access): boolean;
}

/** What the command palette offers besides screens and users. */
export const commands: readonly Command[] = [
  {
    text: 'invitations_new',
    icon: 'invitation',
    href: '/invitations?new=yes',
    // The screen shows invited users by their address, and the form needs a role.
    isOpenTo: ({ mayInvite, can, canUse }) =>
      mayInvite && can('read', 'roles') && canUse('read', 'users', 'status') && canUse('read', 'users', 'email'),
  },
  {
    text: 'create_title',
    icon: 'plus',
    href: '/users?new=create',
    isOpenTo: ({ can, canUse }) => can('read', 'users') && canUse('create', 'users', 'email'),
  },
  { text: 'roles_new', icon: 'plus', href: '/roles/new', isOpenTo: ({ isAdmin }) => isAdmin },
  {
    text: 'applications_new',
    icon: 'plus',
    href: '/applications?new=yes',
    isOpenTo: ({ can }) => can('read', 'clients') && can('create', 'clients'),
  },
];
