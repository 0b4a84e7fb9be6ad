import type { Mail } from '../../api/types.js';
import { useApi } from '../../api/use-api.js';
import { useNames } from '../../api/use-names.js';
import { useAccess } from '../../app/access.js';
import { useUrlState } from '../../app/url-state.js';
import { Failure } from '../../components/failure.js';
import { Empty, Screen, Tabs } from '../../components/layout.js';
import { MailTable, maxMails } from '../../components/mail-table.js';
import { fieldOf } from '../../model/fields.js';
import { choiceText, t } from '../../texts.js';

/** What was sent to whom and when, and what was not. */
export default function Emails() {
  const [state] = useUrlState<'state'>();
  const { can } = useAccess();
  const wanted = state.state ?? '';
  const { data, failure, isLoading, reload } = useApi('/mails', {
    query: { state: wanted, limit: maxMails },
    refreshMs: 15_000,
  });
  const mails = data?.data as readonly Mail[] | undefined;
  const names = useNames(can('read', 'users') ? mails?.map(({ user }) => user) : undefined);
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
      <MailTable
        mails={mails}
        isLoading={isLoading}
        nameOf={({ user, email }) => names.get(user ?? '') ?? email ?? undefined}
        empty={
          <Empty icon="email" title={t('emails_none_title')}>
            {t('emails_none')}
          </Empty>
        }
      />
    </Screen>
  );
}
