import { post } from '../../api/client.js';
import type { Mail } from '../../api/types.js';
import { useApi } from '../../api/use-api.js';
import { useNames } from '../../api/use-names.js';
import { useAccess } from '../../app/access.js';
import { useUrlState } from '../../app/url-state.js';
import { UserLink } from '../../components/actor.js';
import { StatusBadge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { Failure } from '../../components/failure.js';
import { Empty, Screen, Tabs } from '../../components/layout.js';
import { type Column, Table } from '../../components/table.js';
import { Ago } from '../../components/time.js';
import { toast } from '../../components/toast.js';
import { fieldOf } from '../../model/fields.js';
import { choiceText, t, textIfAny } from '../../texts.js';

/** The latest emails. Older ones are deleted after some time. */
const maxShown = 200;

/** What was sent to whom and when, and what was not. Never its text or its links. */
export default function Emails() {
  const [state] = useUrlState<'state'>();
  const { can } = useAccess();
  const wanted = state.state ?? '';
  const { data, failure, isLoading, reload } = useApi('/mails', {
    query: { state: wanted, limit: maxShown },
    refreshMs: 15_000,
  });
  const send = async ({ id = '', email }: Mail) => {
    await post('/mails/{id}/retry', undefined, { params: { id } });
    reload();
    toast(t('emails_retried', { email: email ?? id }));
  };
  const mails = data?.data as readonly Mail[] | undefined;
  const names = useNames(can('read', 'users') ? mails?.map(({ user }) => user) : undefined);
  const columns: readonly Column<Mail>[] = [
    {
      key: 'kind',
      title: t('emails_kind'),
      cell: ({ kind }) => <strong>{textIfAny(`emails_kind_${kind}`) ?? kind}</strong>,
    },
    {
      key: 'email',
      title: t('emails_to'),
      cell: ({ email, user }) =>
        user ? <UserLink id={user}>{names.get(user) ?? email ?? user}</UserLink> : (email ?? '–'),
    },
    { key: 'state', title: t('emails_state'), cell: ({ state: name }) => <StatusBadge status={name} /> },
    {
      key: 'reason',
      title: t('emails_reason'),
      cell: ({ reason, limit }) =>
        reason ?? (limit ? t('emails_limit', { limit: textIfAny(`emails_limit_${limit}`) ?? limit }) : ''),
    },
    {
      key: 'created_at',
      title: t('user_when'),
      cell: ({ created_at }) => <Ago time={created_at} />,
    },
    {
      key: 'retry',
      title: t('emails_action'),
      align: 'end',
      cell: (mail) =>
        mail.state === 'failed' && can('update', 'mails') ? (
          <Button icon="refresh" onPress={() => send(mail)}>
            {t('emails_retry')}
          </Button>
        ) : null,
    },
  ];
  const states = ['', ...(fieldOf('mails', 'state')?.choices ?? [])];
  return (
    <Screen title={t('nav_emails')} lead={t('emails_lead')}>
      <Tabs
        label={t('emails_state')}
        tabs={states.map((one) => ({
          href: one === '' ? '/emails' : `/emails?state=${one}`,
          text: one === '' ? t('activity_all') : choiceText(one),
          isCurrent: one === wanted,
        }))}
      />
      <Failure failure={failure} retry={reload} />
      <Table
        label={t('nav_emails')}
        columns={columns}
        rows={mails}
        rowKey={({ id }) => id ?? ''}
        rowName={({ kind, email }) => `${textIfAny(`emails_kind_${kind}`) ?? kind} ${email ?? ''}`}
        isLoading={isLoading}
        empty={
          <Empty icon="email" title={t('emails_none_title')}>
            {t('emails_none')}
          </Empty>
        }
      />
      {mails?.length === maxShown && <p class="hint">{t('emails_newest', { count: maxShown })}</p>}
    </Screen>
  );
}
