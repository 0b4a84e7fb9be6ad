import type { Mail } from '../../api/types.js';
import { useApi } from '../../api/use-api.js';
import { Failure } from '../../components/failure.js';
import { Empty } from '../../components/layout.js';
import { MailTable, maxMails } from '../../components/mail-table.js';
import { nameOf } from '../../components/person.js';
import { t } from '../../texts.js';
import type { PartProps } from './index.js';

/** What was sent to the user and when, and what was not. */
export function Emails({ user, isInReach }: PartProps) {
  const { data, failure, isLoading, reload } = useApi('/mails', {
    query: { user: user.id, limit: maxMails },
    refreshMs: 15_000,
  });
  return (
    <>
      <p class="hint user-emails-lead">{t('user_emails_lead')}</p>
      <Failure failure={failure} retry={reload} />
      <MailTable
        mails={data?.data as readonly Mail[] | undefined}
        isLoading={isLoading}
        nameOf={() => nameOf(user, user.id)}
        isOfOneUser
        empty={
          <Empty icon="email" title={t('emails_none_title')}>
            {t(isInReach ? 'user_emails_none' : 'user_emails_out_of_reach')}
          </Empty>
        }
      />
    </>
  );
}
