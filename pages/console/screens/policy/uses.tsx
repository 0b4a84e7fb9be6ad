import { Link } from 'wouter-preact';
import type { User } from '../../api/types.js';
import { useApi } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { Card, Fact, Facts } from '../../components/layout.js';
import { nameOf } from '../../components/person.js';
import { usersHref } from '../../components/rules/members.js';
import { fieldText, t } from '../../texts.js';
import type { PolicyItem } from './index.js';

const maxUsers = 5;

/** The roles and users that a policy is assigned to. */
export function Uses({ policy }: { policy: PolicyItem }) {
  const { can } = useAccess();
  const filter = { policies: { _some: { id: { _in: [policy.id] } } } };
  const { data } = useApi(can('read', 'users') ? '/users' : undefined, {
    query: { filter, fields: 'id,first_name,last_name,email', limit: maxUsers + 1 },
  });
  const users = (data?.data ?? []) as (User & { id: string })[];
  const roles = policy.roles ?? [];
  return (
    <Card title={t('policy_uses')}>
      <Facts>
        <Fact name={t('nav_roles')}>
          {roles.length === 0 && <span class="muted">{t('none')}</span>}
          <ul class="plain-list">
            {roles.map(({ id, name }) => (
              <li key={id}>
                <Link href={`/roles/${id}`}>{name}</Link>
              </li>
            ))}
          </ul>
        </Fact>
        {data && (
          <Fact name={fieldText('users')}>
            {users.length === 0 && <span class="muted">{t('none')}</span>}
            <ul class="plain-list">
              {users.slice(0, maxUsers).map((user) => (
                <li key={user.id}>
                  <Link href={`/users/${user.id}`}>{nameOf(user, user.id)}</Link>
                </li>
              ))}
              {users.length > maxUsers && (
                <li>
                  <Link href={usersHref(filter)}>{t('policy_all_users')}</Link>
                </li>
              )}
            </ul>
          </Fact>
        )}
      </Facts>
    </Card>
  );
}
