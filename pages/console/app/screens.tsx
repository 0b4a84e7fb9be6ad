import type { ComponentType } from 'preact';
import type { IconName } from '../components/icon.js';
import type { TextKey } from '../texts.js';
import type { Access } from './access.js';

export interface ScreenProps {
  /** The parameters in the path. */
  params: Readonly<Record<string, string | undefined>>;
}

type Load = () => Promise<{ default: ComponentType<ScreenProps> }>;

interface Entry {
  /** Below `/console`, as patterns of wouter. The first one is the place of the screen in the navigation. */
  paths: readonly [string, ...string[]];
  load: Load;
  /** Whether the user may open it. */
  isOpenTo(access: Access): boolean;
  /** How the navigation and the command palette show it. Without it, only links lead there. */
  entry?: {
    text: TextKey;
    icon: IconName;
    group: Group;
    /** The key that opens it after `g`. */
    key: string;
  };
}

export const groups = ['main', 'access', 'applications', 'observe', 'project'] as const;
export type Group = (typeof groups)[number];

/** All screens, in the order of the navigation. Each has its own folder. Its code is loaded in the background. */
export const screens: readonly Entry[] = [
  {
    paths: ['/overview'],
    load: () => import('../screens/overview/index.js'),
    isOpenTo: ({ canAll }) => canAll('read', 'activity'),
    entry: { text: 'nav_overview', icon: 'overview', group: 'main', key: 'o' },
  },
  {
    paths: ['/users'],
    load: () => import('../screens/users/index.js'),
    isOpenTo: ({ can }) => can('read', 'users'),
    entry: { text: 'nav_users', icon: 'users', group: 'main', key: 'u' },
  },
  {
    paths: ['/users/:id', '/users/:id/:part'],
    load: () => import('../screens/user/index.js'),
    isOpenTo: ({ can }) => can('read', 'users'),
  },
  {
    paths: ['/invitations'],
    load: () => import('../screens/invitations/index.js'),
    isOpenTo: ({ canUse }) => canUse('read', 'users', 'status') && canUse('read', 'users', 'email'),
    entry: { text: 'nav_invitations', icon: 'invitation', group: 'main', key: 'i' },
  },
  {
    paths: ['/applications'],
    load: () => import('../screens/applications/index.js'),
    isOpenTo: ({ can }) => can('read', 'clients'),
    entry: { text: 'nav_applications', icon: 'application', group: 'applications', key: 'a' },
  },
  {
    paths: ['/applications/:id'],
    load: () => import('../screens/application/index.js'),
    isOpenTo: ({ can }) => can('read', 'clients'),
  },
  {
    paths: ['/apis'],
    load: () => import('../screens/apis/index.js'),
    isOpenTo: ({ can }) => can('read', 'resources'),
    entry: { text: 'nav_apis', icon: 'link', group: 'applications', key: 'x' },
  },
  {
    paths: ['/activity'],
    load: () => import('../screens/activity/index.js'),
    isOpenTo: ({ can }) => can('read', 'activity'),
    entry: { text: 'nav_activity', icon: 'activity', group: 'observe', key: 'h' },
  },
  {
    paths: ['/emails'],
    load: () => import('../screens/emails/index.js'),
    isOpenTo: ({ can }) => can('read', 'mails'),
    entry: { text: 'nav_emails', icon: 'email', group: 'observe', key: 'e' },
  },
  {
    paths: ['/settings'],
    load: () => import('../screens/settings/index.js'),
    isOpenTo: ({ can }) => can('read', 'settings'),
    entry: { text: 'nav_settings', icon: 'settings', group: 'project', key: 's' },
  },
  {
    paths: ['/roles'],
    load: () => import('../screens/roles/index.js'),
    isOpenTo: ({ can }) => can('read', 'roles'),
    entry: { text: 'nav_roles', icon: 'role', group: 'access', key: 'r' },
  },
  {
    paths: ['/roles/new'],
    load: () => import('../screens/new-role/index.js'),
    isOpenTo: ({ isAdmin }) => isAdmin,
  },
  {
    paths: ['/roles/:id', '/roles/:id/:part'],
    load: () => import('../screens/role/index.js'),
    isOpenTo: ({ can }) => can('read', 'roles'),
  },
  {
    paths: ['/policies'],
    load: () => import('../screens/policies/index.js'),
    isOpenTo: ({ can }) => can('read', 'policies'),
    entry: { text: 'nav_policies', icon: 'policy', group: 'access', key: 'p' },
  },
  {
    paths: ['/policies/:id'],
    load: () => import('../screens/policy/index.js'),
    isOpenTo: ({ can }) => can('read', 'policies'),
  },
  {
    paths: ['/simulator'],
    load: () => import('../screens/simulator/index.js'),
    isOpenTo: ({ isAdmin }) => isAdmin,
    entry: { text: 'nav_simulator', icon: 'eye', group: 'access', key: 'w' },
  },
];

/** Whether a link to a path below `/console` leads to a screen that the user may open. */
export const isOpenPath = (path: string, access: Access): boolean =>
  screens.some(({ paths, isOpenTo }) => paths.includes(path.split('?', 1)[0] as string) && isOpenTo(access));

/** What the user sees first. */
export const firstScreen = (access: Access): string =>
  screens.find(({ isOpenTo }) => isOpenTo(access))?.paths[0] ?? '/';
