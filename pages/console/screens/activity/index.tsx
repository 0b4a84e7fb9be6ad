import { useState } from 'preact/hooks';
import { useApi } from '../../api/use-api.js';
import { useNames } from '../../api/use-names.js';
import { useAccess } from '../../app/access.js';
import { useUrlState } from '../../app/url-state.js';
import { usePage } from '../../app/use-page.js';
import { Actor, actorFields, type ActorEvent as Event, UserLink } from '../../components/actor.js';
import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { Dialog } from '../../components/dialog.js';
import { Failure } from '../../components/failure.js';
import { SelectField } from '../../components/field.js';
import { Copyable, Empty, Fact, Facts, Screen } from '../../components/layout.js';
import { nameOf } from '../../components/person.js';
import { Picker } from '../../components/picker.js';
import { type Column, Pager, Table } from '../../components/table.js';
import { Ago, Time } from '../../components/time.js';
import { fieldOf } from '../../model/fields.js';
import { actionText, choiceText, fieldText, reasonText, t, textIfAny } from '../../texts.js';
import { VerificationDialog } from './verification.js';

/** Milliseconds between requests while the list is live. */
const liveMs = 5_000;

interface ConcernedProps {
  collection: Event['collection'];
  item: Event['item'];
  name: string | undefined;
}

/** What was changed, or whose account it was about. */
function Concerned({ collection, item, name }: ConcernedProps) {
  const kind = collection ? (textIfAny(`nav_${collection}`) ?? fieldText(collection)) : '–';
  if (collection !== 'users' || !item) return <>{kind}</>;
  return <UserLink id={item}>{name ?? item}</UserLink>;
}

const columns: readonly Column<Event>[] = [
  { key: 'timestamp', title: t('user_when'), cell: ({ timestamp }) => <Ago time={timestamp} /> },
  { key: 'action', title: t('user_event'), cell: ({ action }) => <strong>{actionText(action ?? '')}</strong> },
  { key: 'user', title: t('activity_who'), cell: ({ user }) => <Actor user={user} /> },
  {
    key: 'outcome',
    title: t('user_outcome'),
    cell: (event) =>
      event.outcome === 'failure' ? (
        <>
          <Badge tone="bad">{choiceText('failure')}</Badge> <span class="muted">{reasonText(event)}</span>
        </>
      ) : (
        <Badge tone="good">{choiceText('success')}</Badge>
      ),
  },
  { key: 'ip', title: t('user_address'), cell: ({ ip }) => ip ?? '–' },
];

/** The audit log. */
export default function ActivityScreen() {
  const [state, change] = useUrlState<'action' | 'outcome' | 'user' | 'live'>();
  const [opened, setOpened] = useState<Event>();
  const { action = '', outcome = '', user, live } = state;
  const { can, isAdmin } = useAccess();
  const picked = useApi(user === undefined || !can('read', 'users') ? undefined : '/users/{id}', {
    params: { id: user ?? '' },
    query: { fields: 'id,first_name,last_name,email' },
  });
  const conditions = {
    ...(action === '' ? {} : { action: { _eq: action } }),
    ...(outcome === '' ? {} : { outcome: { _eq: outcome } }),
    ...(user === undefined ? {} : { user: { _eq: user } }),
  };
  const list = usePage<Event>(
    '/activity',
    {
      fields: `*,${actorFields}`,
      sort: '-timestamp',
      ...(Object.keys(conditions).length > 0 ? { filter: conditions } : {}),
    },
    { refreshMs: live === undefined ? 0 : liveMs },
  );
  const [isVerifying, setIsVerifying] = useState(false);
  const names = useNames(
    can('read', 'users')
      ? list.data?.filter(({ collection }) => collection === 'users').map(({ item }) => item)
      : undefined,
  );
  const concerns: Column<Event> = {
    key: 'item',
    title: t('activity_concerns'),
    cell: ({ collection, item }) => <Concerned collection={collection} item={item} name={names.get(item ?? '')} />,
  };
  const choicesOf = (name: string, textOf: (value: string) => string) => [
    { value: '', text: t('activity_all') },
    ...(fieldOf('activity', name)?.choices ?? []).map((value) => ({ value, text: textOf(value) })),
  ];
  return (
    <Screen
      title={t('nav_activity')}
      lead={t(isAdmin ? 'activity_lead' : 'activity_partial')}
      actions={
        <>
          {isAdmin && (
            <Button icon="shield" onPress={() => setIsVerifying(true)}>
              {t('verify')}
            </Button>
          )}
          <Button
            icon="bolt"
            pressed={live !== undefined}
            onPress={() => change({ live: live === undefined ? 'on' : undefined })}
          >
            {t('activity_live')}
          </Button>
        </>
      }
    >
      <div class="toolbar filters">
        <SelectField
          label={t('user_event')}
          value={action}
          options={choicesOf('action', actionText)}
          onChange={(next) => change({ action: next })}
        />
        <SelectField
          label={t('user_outcome')}
          value={outcome}
          options={choicesOf('outcome', choiceText)}
          onChange={(next) => change({ outcome: next })}
        />
        {(can('read', 'users') || user !== undefined) && (
          <Picker
            kind="users"
            label={t('activity_who')}
            value={user === undefined ? undefined : { id: user, name: nameOf(picked.data?.data ?? {}, user) }}
            onChange={(next) => change({ user: next?.id })}
          />
        )}
      </div>
      <Failure failure={list.failure} retry={list.reload} />
      <Table
        label={t('nav_activity')}
        columns={[
          ...columns.slice(0, 3),
          concerns,
          ...columns.slice(3),
          {
            key: 'details',
            title: t('activity_details'),
            align: 'end',
            cell: (event) => (
              <Button kind="quiet" icon="eye" label={t('activity_details')} onPress={() => setOpened(event)} />
            ),
          },
        ]}
        rows={list.data}
        rowKey={({ id }) => id ?? ''}
        rowName={({ action: name }) => actionText(name ?? '')}
        isLoading={list.isLoading && live === undefined}
        isCompact
        empty={
          <Empty icon="activity" title={t('activity_none_title')}>
            {t('activity_none')}
          </Empty>
        }
      />
      <Pager number={list.number} next={list.next} previous={list.previous} />
      {isVerifying && <VerificationDialog onClose={() => setIsVerifying(false)} />}
      {opened && (
        <Dialog title={actionText(opened.action ?? '')} onClose={() => setOpened(undefined)} size="large">
          <Facts>
            <Fact name={t('user_when')}>
              <Time time={opened.timestamp} />
            </Fact>
            <Fact name={t('activity_who')}>
              <Actor user={opened.user} />
            </Fact>
            {Object.entries(opened)
              .filter(([name, value]) => !['id', 'timestamp', 'user', 'action'].includes(name) && value !== null)
              .map(([name, value]) => (
                <Fact key={name} name={fieldText(name)}>
                  {name === 'item' || name === 'request_id' ? (
                    <Copyable value={String(value)} />
                  ) : (
                    [value].flat().map(String).join(', ')
                  )}
                </Fact>
              ))}
          </Facts>
        </Dialog>
      )}
    </Screen>
  );
}
