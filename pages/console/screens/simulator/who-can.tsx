import { Link } from 'wouter-preact';
import type { Permission, Policy, Role } from '../../api/types.js';
import { useApi } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { Failure } from '../../components/failure.js';
import { SelectField } from '../../components/field.js';
import { Card, Empty } from '../../components/layout.js';
import { usersHref } from '../../components/rules/members.js';
import { useNames } from '../../components/rules/names.js';
import { type Action, actionsOn, fieldNames, type Rule, ruleFields, ruleOf } from '../../components/rules/rule.js';
import { useRuleCollections } from '../../components/rules/rule-collections.js';
import { collectionText, filterText } from '../../components/rules/sentence.js';
import { simulatorHref } from '../../components/rules/simulation.js';
import { isOnlyForAdministrators } from '../../model/fields.js';
import { fieldText, t } from '../../texts.js';
import type { StateProps } from './index.js';

interface Holder {
  id: string;
  name: string;
}

type PolicyWithRoles = Omit<Policy, 'roles'> & { id: string; name: string; roles?: Holder[] | null };
type RuleWithPolicy = Omit<Permission, 'policy'> & { policy: PolicyWithRoles };
type RoleWithParent = Omit<Role, 'parent'> & { id: string; name: string; parent?: string | null };

/** One more would not fit on the screen; the console says so. */
const maxItems = 500;
const policyFields = ['id', 'name', 'ip_access', 'admin_access', 'app_access', 'roles.id', 'roles.name'];

/** Who may read or write a field: the policies that allow it, and the roles that have them. It takes four requests. */
export function WhoCan({ state, change }: StateProps) {
  const { collection = 'users', action = 'read', field = 'email' } = state;
  const { can } = useAccess();
  const collections = useRuleCollections();
  const isAction = (name: string): name is Action => (actionsOn(collection) as readonly string[]).includes(name);
  const asked = isAction(action) ? action : 'read';
  const fields = fieldNames(collection, asked);
  const shownField = fields.includes(field) ? field : (fields[0] ?? '');
  const rules = useApi('/permissions', {
    query: {
      filter: { collection: { _eq: collection }, action: { _eq: asked } },
      fields: [...ruleFields.split(','), ...policyFields.map((name) => `policy.${name}`)].join(','),
      limit: maxItems,
    },
  });
  const wide = useApi('/policies', {
    query: {
      filter: { _or: [{ admin_access: { _eq: true } }, { app_access: { _eq: true } }] },
      fields: policyFields.join(','),
      limit: maxItems,
    },
  });
  const children = useApi('/roles', {
    query: { filter: { parent: { _nnull: true } }, fields: 'id,name,parent', limit: maxItems },
  });
  const settings = useApi(can('read', 'settings') ? '/settings' : undefined, { query: { fields: 'public_policy' } });
  const failure = rules.failure ?? wide.failure ?? children.failure;
  const found = ((rules.data?.data ?? []) as unknown as RuleWithPolicy[]).filter(
    ({ fields: allowed }) =>
      asked === 'delete' ||
      (!isOnlyForAdministrators(asked, collection, shownField) &&
        (allowed?.includes('*') || allowed?.includes(shownField))),
  );
  const nameOfId = useNames(
    found.map((rule) => ruleOf(rule as unknown as Permission)),
    can,
  );
  const policies = (wide.data?.data ?? []) as unknown as PolicyWithRoles[];
  const publicPolicy = settings.data?.data.public_policy;
  const tree = (children.data?.data ?? []) as RoleWithParent[];
  const isOwnAccount = asked === 'read' && (collection === 'users' || collection === 'roles');
  const entries = [
    ...policies.filter(({ admin_access }) => admin_access).map((policy) => ({ policy, scope: t('who_everything') })),
    ...found
      .filter(({ policy }) => !policy.admin_access)
      .map((rule) => ({ policy: rule.policy, scope: scopeOf(ruleOf(rule as unknown as Permission), nameOfId) })),
    ...policies
      .filter(({ admin_access, app_access }) => isOwnAccount && app_access && !admin_access)
      .map((policy) => ({ policy, scope: t('who_own_account') })),
  ];
  const isComplete = [rules, wide, children].every(({ data }) => (data?.data.length ?? 0) < maxItems);
  const isLoaded = rules.data && wide.data && children.data;
  return (
    <div class="simulator">
      <Card>
        <SelectField
          label={t('rule_action')}
          value={asked}
          options={actionsOn(collection).map((value) => ({ value, text: t(`rule_action_${value}`) }))}
          onChange={(next) => change({ action: next, field: undefined })}
        />
        <SelectField
          label={t('simulator_collection')}
          value={collection}
          options={(collections.length > 0 ? collections : [collection]).map((value) => ({
            value,
            text: collectionText(value),
          }))}
          onChange={(next) => change({ collection: next, action: undefined, field: undefined })}
        />
        {fields.length > 0 && (
          <SelectField
            label={fieldText('fields')}
            value={shownField}
            options={fields.map((value) => ({ value, text: fieldText(value) }))}
            onChange={(next) => change({ field: next })}
          />
        )}
        <p class="hint">{t('who_hint')}</p>
      </Card>
      <Card>
        <Failure failure={failure} />
        {!isLoaded && !failure && <div class="verdict is-loading" aria-busy="true" />}
        {isLoaded && entries.length === 0 && <Empty icon="lock" title={t('who_nobody')} />}
        <ul class="lines">
          {entries.map(({ policy, scope }, index) => (
            <li class="line who" key={`${policy.id}${index}`}>
              <div class="line-text">
                <strong>
                  {t('who_policy')} <Link href={`/policies/${policy.id}`}>{policy.name}</Link>
                </strong>
                <span>{scope}</span>
                <span class="hint">
                  {policy.id === publicPolicy && <>{t('who_public')} · </>}
                  {policy.ip_access && policy.ip_access.length > 0 && (
                    <>{t('policy_says_ip', { addresses: policy.ip_access.join(', ') })} </>
                  )}
                  <Holders policy={policy} tree={tree} collection={collection} />
                </span>
              </div>
            </li>
          ))}
        </ul>
        {!isComplete && <p class="hint">{t('who_incomplete', { count: maxItems })}</p>}
      </Card>
    </div>
  );
}

function scopeOf({ collection, permissions }: Rule, nameOfId: (id: string) => string): string {
  const conditions = filterText(collection, permissions, nameOfId);
  return conditions === '' ? t('who_all', { collection: collectionText(collection) }) : t('rule_where', { conditions });
}

/** The roles that have a policy, also through their parents, and the users to whom it is assigned directly. */
function Holders({
  policy,
  tree,
  collection,
}: {
  policy: PolicyWithRoles;
  tree: RoleWithParent[];
  collection: string;
}) {
  const direct = policy.roles ?? [];
  const held = new Map(direct.map(({ id, name }) => [id, name]));
  // Each round finds the children of the roles so far; a role is found only once.
  for (let size = -1; size !== held.size; ) {
    size = held.size;
    for (const { id, name, parent } of tree) if (parent && held.has(parent)) held.set(id, name);
  }
  const roles = [...held];
  return (
    <>
      {roles.length === 0 && t('who_no_roles')}
      {roles.map(([id, name], index) => (
        <span key={id}>
          {index > 0 && ', '}
          <Link href={simulatorHref({ kind: 'role', id, name }, collection)}>{name}</Link>
        </span>
      ))}
      {' · '}
      <Link href={usersHref({ policies: { _some: { id: { _in: [policy.id] } } } })}>{t('who_users')}</Link>
    </>
  );
}
