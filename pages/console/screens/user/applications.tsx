import { remove } from '../../api/client.js';
import { useApi } from '../../api/use-api.js';
import { nameOf } from '../../components/person.js';
import { t } from '../../texts.js';
import type { UserItem } from './index.js';
import { RemovableLines, Used } from './removable-lines.js';

/** The applications that the user has given access. */
export function Applications({ user }: { user: UserItem }) {
  return (
    <RemovableLines
      title={t('user_applications')}
      lead={t('user_applications_lead')}
      loaded={useApi('/users/{id}/grants', { params: { id: user.id } })}
      none={t('user_applications_none')}
      icon="application"
      line={({ client, scopes, ...times }) => (
        <>
          <strong>{client.name}</strong>
          <span class="hint">{scopes.join(' ')}</span>
          <span class="hint">
            <Used {...times} />
          </span>
        </>
      )}
      removal={({ id, client }) => ({
        title: t('user_grant_withdraw_title', { application: client.name }),
        text: t('user_grant_withdraw_text', { name: nameOf(user, user.id), application: client.name }),
        action: t('user_grant_withdraw'),
        act: () => remove('/users/{id}/grants/{grant}', undefined, { params: { id: user.id, grant: id } }),
        done: t('user_grant_withdrawn', { application: client.name }),
      })}
    />
  );
}
