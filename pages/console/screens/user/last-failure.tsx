import { Link } from 'wouter-preact';
import type { Activity } from '../../api/types.js';
import { useApi } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { Icon } from '../../components/icon.js';
import { Card } from '../../components/layout.js';
import { Ago } from '../../components/time.js';
import { reasonText, t, textIfAny } from '../../texts.js';
import type { UserItem } from './index.js';

/** Why the last sign-in failed, and what helps. */
export function LastFailure({ user }: { user: UserItem }) {
  const { can } = useAccess();
  const { data } = useApi(can('read', 'activity') ? '/activity' : undefined, {
    query: {
      // In a refused sign-in, the user is only what it is about.
      filter: { action: { _eq: 'login' }, _or: [{ user: { _eq: user.id } }, { item: { _eq: user.id } }] },
      fields: 'outcome,reason,code,timestamp,ip,user_agent',
      sort: '-timestamp',
      limit: 1,
    },
  });
  const [last] = (data?.data ?? []) as Activity[];
  if (last?.outcome !== 'failure') return null;
  const why = last.reason ?? last.code ?? '';
  const help = textIfAny(`user_help_${why}`);
  return (
    <Card title={t('user_last_failure')}>
      <div class="failure-reason">
        <Icon name="warning" />
        <div>
          <p>
            <strong>{reasonText(last)}</strong>
          </p>
          {help && <p class="hint">{help}</p>}
          <p class="hint">
            <Ago time={last.timestamp} />
            {last.ip && ` · ${last.ip}`}
          </p>
          <Link href={`/users/${user.id}/history`}>{t('user_history')}</Link>
        </div>
      </div>
    </Card>
  );
}
