import { useAccess } from '../../app/access.js';
import { usePage } from '../../app/use-page.js';
import { Actor, actorFields, type ActorEvent as Event } from '../../components/actor.js';
import { Badge } from '../../components/badge.js';
import { Failure } from '../../components/failure.js';
import { Empty } from '../../components/layout.js';
import { type Column, Pager, Table } from '../../components/table.js';
import { Ago } from '../../components/time.js';
import { actionText, choiceText, reasonText, t } from '../../texts.js';
import type { UserItem } from './index.js';

const columns: readonly Column<Event>[] = [
  { key: 'action', title: t('user_event'), cell: ({ action }) => <strong>{actionText(action ?? '')}</strong> },
  { key: 'user', title: t('activity_who'), cell: ({ user }) => <Actor user={user} /> },
  {
    key: 'outcome',
    title: t('user_outcome'),
    cell: ({ outcome, ...event }) => (
      <>
        <Badge tone={outcome === 'failure' ? 'bad' : 'good'}>{choiceText(outcome ?? '')}</Badge>{' '}
        {outcome === 'failure' && <span class="muted">{reasonText(event)}</span>}
      </>
    ),
  },
  { key: 'ip', title: t('user_address'), cell: ({ ip }) => ip ?? '–' },
  { key: 'timestamp', title: t('user_when'), cell: ({ timestamp }) => <Ago time={timestamp} />, align: 'end' },
];

/** What the user did, and what others did with the account, from the audit log. */
export function History({ user }: { user: UserItem }) {
  const { isAdmin } = useAccess();
  const list = usePage<Event>('/activity', {
    // In a refused sign-in, the user is only what it is about.
    filter: { _or: [{ user: { _eq: user.id } }, { item: { _eq: user.id } }] },
    fields: `id,timestamp,action,outcome,reason,code,ip,${actorFields}`,
    sort: '-timestamp',
  });
  return (
    <>
      <Failure failure={list.failure} retry={list.reload} />
      <Table
        label={t('user_history')}
        columns={columns}
        rows={list.data}
        rowKey={({ id }) => id ?? ''}
        rowName={({ action }) => actionText(action ?? '')}
        isLoading={list.isLoading}
        empty={
          <Empty icon="activity" title={t('user_history_none_title')}>
            {t('user_history_none')}
          </Empty>
        }
      />
      {!isAdmin && <p class="hint">{t('activity_partial')}</p>}
      <Pager number={list.number} next={list.next} previous={list.previous} />
    </>
  );
}
