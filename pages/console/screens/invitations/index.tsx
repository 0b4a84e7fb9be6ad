import { Link } from 'wouter-preact';
import { remove } from '../../api/client.js';
import type { User } from '../../api/types.js';
import { changed } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { useUrlState } from '../../app/url-state.js';
import { usePage } from '../../app/use-page.js';
import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { ask } from '../../components/dialog.js';
import { Failure } from '../../components/failure.js';
import { askToResend, Invite } from '../../components/invite.js';
import { Empty, Screen, Tabs } from '../../components/layout.js';
import { SearchField } from '../../components/search-field.js';
import { type Column, Pager, Table } from '../../components/table.js';
import { Ago } from '../../components/time.js';
import { toast } from '../../components/toast.js';
import { fieldText, t } from '../../texts.js';

type Invited = User & { role?: { id: string; name: string } | null };

const role: Column<Invited> = {
  key: 'role',
  title: fieldText('role'),
  cell: (user) => user.role?.name ?? <span class="muted">{t('none')}</span>,
};
const since: Column<Invited> = {
  key: 'created_at',
  title: t('invitations_since'),
  cell: ({ created_at }) => <Ago time={created_at} />,
};

const end: Column<Invited> = {
  key: 'invite_expires_at',
  title: fieldText('invite_expires_at'),
  cell: ({ invite_expires_at: time }) =>
    time && isPast(time) ? <Badge tone="warning">{t('invitations_expired')}</Badge> : <Ago time={time} />,
};
const isPast = (time: string) => Date.parse(time) <= Date.now();

/** An invitation without a time has not been sent, or its link is void. It can be sent again, like one that is pending. */
const filters: Readonly<Record<string, object>> = {
  all: {},
  pending: { _or: [{ invite_expires_at: { _gt: '$NOW' } }, { invite_expires_at: { _null: true } }] },
  expired: { invite_expires_at: { _lte: '$NOW' } },
};

/** The users who have been invited and have not accepted yet. */
export default function Invitations() {
  const { canAll, canUse, mayInvite } = useAccess();
  // A rule could exclude some of them.
  const mayRevoke = canAll('delete', 'users');
  const [state, change] = useUrlState<'q' | 'new' | 'state'>();
  const { q = '' } = state;
  const showsEnd = canUse('read', 'users', 'invite_expires_at');
  const shown = showsEnd && state.state !== undefined && state.state in filters ? state.state : 'all';
  const list = usePage<Invited>('/users', {
    fields: `id,email,created_at,role.id,role.name${showsEnd ? ',invite_expires_at' : ''}`,
    filter: { status: { _eq: 'invited' }, ...filters[shown] },
    search: q,
    // The order in which they were created. Unlike the time, it is indexed.
    sort: '-id',
  });

  const resend = ({ email, role: held }: Invited) => {
    if (email) askToResend({ email, name: email, role: held?.id });
  };
  const revoke = (user: Invited) =>
    ask({
      title: t('invitations_revoke_title', { email: user.email ?? '' }),
      text: t('invitations_revoke_text'),
      action: t('invitations_revoke'),
      act: async () => {
        await remove('/users/{id}', undefined, { params: { id: user.id ?? '' } });
        void changed('users');
        toast(t('invitations_revoked', { email: user.email ?? '' }));
      },
    });

  const actions: Column<Invited> = {
    key: 'actions',
    title: t('user_actions'),
    align: 'end',
    cell: (user) => (
      <span class="cell-actions">
        {mayInvite && <Button onPress={() => resend(user)}>{t('invitations_resend')}</Button>}
        {mayRevoke && (
          <Button kind="danger" onPress={() => revoke(user)}>
            {t('invitations_revoke')}
          </Button>
        )}
      </span>
    ),
  };
  const columns: readonly Column<Invited>[] = [
    {
      key: 'email',
      title: fieldText('email'),
      cell: ({ id, email }) => (
        <Link href={`/users/${id}`}>
          <strong>{email}</strong>
        </Link>
      ),
    },
    ...(canUse('read', 'users', 'role') && canUse('read', 'roles', 'name') ? [role] : []),
    ...(canUse('read', 'users', 'created_at') ? [since] : []),
    ...(showsEnd ? [end] : []),
    ...(mayInvite || mayRevoke ? [actions] : []),
  ];
  const inviteButton = (
    <Button kind="primary" icon="plus" onPress={() => change({ new: 'yes' })}>
      {t('invitations_new')}
    </Button>
  );
  return (
    <Screen title={t('nav_invitations')} lead={t('invitations_lead')} {...(mayInvite ? { actions: inviteButton } : {})}>
      {showsEnd && (
        <Tabs
          label={t('emails_state')}
          tabs={Object.keys(filters).map((name) => ({
            href: name === 'all' ? '/invitations' : `/invitations?state=${name}`,
            text: t(`invitations_${name}` as 'invitations_all'),
            isCurrent: name === shown,
          }))}
        />
      )}
      <div class="toolbar">
        <SearchField
          label={t('users_search')}
          value={q}
          onSearch={(search) => change({ q: search }, { replace: true })}
        />
      </div>
      <Failure failure={list.failure} retry={list.reload} />
      <Table
        label={t('nav_invitations')}
        columns={columns}
        rows={list.data}
        rowKey={({ id }) => id ?? ''}
        rowName={({ email }) => email ?? ''}
        isLoading={list.isLoading}
        empty={
          shown === 'expired' ? (
            <Empty icon="invitation" title={t('invitations_none_expired')} />
          ) : (
            <Empty
              icon="invitation"
              title={t('invitations_none_title')}
              {...(mayInvite ? { action: inviteButton } : {})}
            >
              {t('invitations_none')}
            </Empty>
          )
        }
      />
      <Pager number={list.number} next={list.next} previous={list.previous} />
      {state.new && mayInvite && <Invite onClose={() => change({ new: undefined })} />}
    </Screen>
  );
}
