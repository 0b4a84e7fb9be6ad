import { remove } from '../../api/client.js';
import { useApi } from '../../api/use-api.js';
import { Button } from '../../components/button.js';
import { ask } from '../../components/dialog.js';
import { Failure } from '../../components/failure.js';
import { Icon } from '../../components/icon.js';
import { Card } from '../../components/layout.js';
import { nameOf } from '../../components/person.js';
import { Ago, Day } from '../../components/time.js';
import { toast } from '../../components/toast.js';
import { t } from '../../texts.js';
import type { UserItem } from './index.js';

/** The applications that the user has given access. */
export function Applications({ user }: { user: UserItem; reload: () => void }) {
  const { data, failure, reload } = useApi('/users/{id}/grants', { params: { id: user.id } });
  const grants = data?.data ?? [];
  return (
    <Card title={t('user_applications')} lead={t('user_applications_lead')}>
      <Failure failure={failure} retry={reload} />
      {data && grants.length === 0 && <p class="muted">{t('user_applications_none')}</p>}
      <ul class="lines">
        {grants.map(({ id, client, scopes, created_at, last_used_at }) => (
          <li class="line" key={id}>
            <Icon name="application" />
            <div class="line-text">
              <strong>{client.name}</strong>
              <span class="hint">{scopes.join(' ')}</span>
              <span class="hint">
                {t('user_added')} <Day time={created_at} /> · {t('user_used')}{' '}
                <Ago time={last_used_at} otherwise={t('never')} />
              </span>
            </div>
            <Button
              kind="danger"
              onPress={() =>
                ask({
                  title: t('user_grant_withdraw_title', { application: client.name }),
                  text: t('user_grant_withdraw_text', { name: nameOf(user, user.id), application: client.name }),
                  action: t('user_grant_withdraw'),
                  act: async () => {
                    await remove('/users/{id}/grants/{grant}', undefined, { params: { id: user.id, grant: id } });
                    reload();
                    toast(t('user_grant_withdrawn', { application: client.name }));
                  },
                })
              }
            >
              {t('user_grant_withdraw')}
            </Button>
          </li>
        ))}
      </ul>
    </Card>
  );
}
