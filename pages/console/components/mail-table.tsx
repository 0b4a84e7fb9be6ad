import type { ComponentChildren } from 'preact';
import { post } from '../api/client.js';
import type { Mail } from '../api/types.js';
import { changed } from '../api/use-api.js';
import { t, textIfAny } from '../texts.js';
import { UserLink } from './actor.js';
import { StatusBadge } from './badge.js';
import { Button } from './button.js';
import { type Column, Table } from './table.js';
import { Ago } from './time.js';
import { toast } from './toast.js';

/** How many of the latest emails a screen shows. Older ones are deleted after some time. */
export const maxMails = 200;

interface Props {
  mails: readonly Mail[] | undefined;
  isLoading: boolean;
  /** The name of the user to whom an email is, or its address. Undefined: neither is known. */
  nameOf: (mail: Mail) => string | undefined;
  /** Whether all emails are to one user, who needs no column. */
  isOfOneUser?: boolean;
  empty: ComponentChildren;
}

const kindOf = ({ kind }: Mail): string => textIfAny(`emails_kind_${kind}`) ?? kind ?? '';

/** What was sent and when, and what was not. Never its text or its links. Those that failed can be sent again. */
export function MailTable({ mails, isLoading, nameOf, isOfOneUser = false, empty }: Props) {
  const send = async (mail: Mail) => {
    const { id = '' } = mail;
    await post('/mails/{id}/retry', undefined, { params: { id } });
    void changed('mails');
    toast(t('emails_retried', { email: nameOf(mail) ?? id }));
  };
  const to: Column<Mail> = {
    key: 'email',
    title: t('emails_to'),
    cell: (mail) => {
      const name = nameOf(mail);
      return mail.user ? <UserLink id={mail.user}>{name ?? mail.user}</UserLink> : (name ?? '–');
    },
  };
  const columns: readonly Column<Mail>[] = [
    { key: 'kind', title: t('emails_kind'), cell: (mail) => <strong>{kindOf(mail)}</strong> },
    ...(isOfOneUser ? [] : [to]),
    { key: 'state', title: t('emails_state'), cell: ({ state }) => <StatusBadge status={state} /> },
    {
      key: 'reason',
      title: t('emails_reason'),
      cell: ({ reason, limit }) =>
        reason ?? (limit ? t('emails_limit', { limit: textIfAny(`emails_limit_${limit}`) ?? limit }) : ''),
    },
    { key: 'created_at', title: t('user_when'), cell: ({ created_at }) => <Ago time={created_at} /> },
    {
      key: 'retry',
      title: t('emails_action'),
      align: 'end',
      cell: (mail) =>
        mail.can_retry && mail.id !== undefined ? (
          <Button icon="refresh" onPress={() => send(mail)}>
            {t('emails_retry')}
          </Button>
        ) : null,
    },
  ];
  return (
    <>
      <Table
        label={t('nav_emails')}
        columns={columns}
        rows={mails}
        rowKey={({ id }) => id ?? ''}
        rowName={(mail) => `${kindOf(mail)} ${nameOf(mail) ?? ''}`}
        isLoading={isLoading}
        empty={empty}
      />
      {mails?.length === maxMails && <p class="hint">{t('emails_newest', { count: maxMails })}</p>}
    </>
  );
}
