import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { patch, remove } from '../../api/client.js';
import type { Permission, Policy } from '../../api/types.js';
import { changed, useApi } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { useDraft } from '../../app/draft.js';
import type { ScreenProps } from '../../app/screens.js';
import { Button } from '../../components/button.js';
import { ask, Dialog } from '../../components/dialog.js';
import { Failure } from '../../components/failure.js';
import { TextField } from '../../components/field.js';
import { Form } from '../../components/form.js';
import { Icon } from '../../components/icon.js';
import { Card, Copyable, Screen } from '../../components/layout.js';
import { PolicyBadges } from '../../components/rules/policy-badges.js';
import { useRuleCollections } from '../../components/rules/rule-collections.js';
import { Simulation } from '../../components/rules/simulation.js';
import { toast } from '../../components/toast.js';
import { fieldText, t, tn } from '../../texts.js';
import { Options } from './options.js';
import { Rules } from './rules.js';
import { Uses } from './uses.js';

export type PolicyItem = Omit<Policy, 'permissions' | 'roles' | 'users'> & {
  id: string;
  name: string;
  permissions?: Permission[] | null;
  roles?: { id: string; name: string }[] | null;
};

const fields = 'id,name,description,admin_access,app_access,enforce_tfa,ip_access,roles.id,roles.name,permissions.*';

/** One policy: its rules, its options, and the roles and users that it is assigned to. */
export default function PolicyScreen({ params: { id = '' } }: ScreenProps) {
  const { isAdmin, canAll } = useAccess();
  const [isEditing, setIsEditing] = useState(false);
  const collections = useRuleCollections();
  const { data, failure, reload } = useApi('/policies/{id}', { params: { id }, query: { fields } });
  const policy = data?.data as PolicyItem | undefined;
  const parent = { href: '/policies', text: t('nav_policies') };
  // A rule could exclude this one, and the API has no way to try it out.
  const mayEdit = canAll('update', 'policies');
  if (policy?.id !== id)
    return (
      <Screen title={t('policy_title')} parent={parent}>
        {failure ? <Failure failure={failure} retry={reload} /> : <div class="screen-loading" aria-busy="true" />}
      </Screen>
    );
  const [role] = policy.roles ?? [];
  return (
    <Screen
      title={policy.name}
      parent={parent}
      aside={<PolicyBadges policy={policy} />}
      lead={
        <span class="user-lead">
          {policy.description && <span>{policy.description}</span>}
          <Copyable value={policy.id} label={t('policy_id')} />
        </span>
      }
      actions={
        <>
          {mayEdit && (
            <Button icon="edit" onPress={() => setIsEditing(true)}>
              {t('edit')}
            </Button>
          )}
          {isAdmin && <DeletePolicy policy={policy} />}
        </>
      }
    >
      <Failure failure={failure} retry={reload} />
      {policy.admin_access && (
        <div class="notice notice-warning">
          <Icon name="warning" />
          <p>{t('policy_admin_warning')}</p>
        </div>
      )}
      <div class="split">
        <div>
          <Rules policy={policy} reload={reload} collections={collections} />
          <Options policy={policy} reload={reload} />
        </div>
        <div>
          <Uses policy={policy} />
          {isAdmin && (
            <Card title={t('role_simulation')} lead={t('policy_simulation_lead')}>
              <Simulation start={role && { kind: 'role', id: role.id, name: role.name }} collections={collections} />
            </Card>
          )}
        </div>
      </div>
      {isEditing && (
        <EditPolicy
          policy={policy}
          close={() => setIsEditing(false)}
          done={() => {
            reload();
            setIsEditing(false);
          }}
        />
      )}
    </Screen>
  );
}

function EditPolicy({ policy, close, done }: { policy: PolicyItem; close: () => void; done: () => void }) {
  const { canUse } = useAccess();
  const [draft, enter, discard] = useDraft<{ name?: string; description?: string }>(`policy-${policy.id}`, {});
  const { name = policy.name, description = policy.description ?? '' } = draft;
  const save = async () => {
    const send = (values: { name: string; description: string }) =>
      patch(
        '/policies/{id}',
        {
          ...(canUse('update', 'policies', 'name') ? { name: values.name } : {}),
          ...(canUse('update', 'policies', 'description') ? { description: values.description || null } : {}),
        },
        { params: { id: policy.id } },
      ).then(() => changed('policies', 'roles'));
    await send({ name: name.trim(), description: description.trim() });
    toast(t('policy_saved', { name: name.trim() }), {
      undo: () => send({ name: policy.name, description: policy.description ?? '' }),
    });
    discard(done);
  };
  return (
    <Dialog title={t('policy_edit_title', { name: policy.name })} onClose={close}>
      <Form
        submit={t('save')}
        fields={['name', 'description']}
        onSubmit={save}
        onCancel={() => discard(close)}
        disabled={name.trim() === ''}
      >
        {(faultOf) => (
          <>
            <TextField
              label={t('roles_name')}
              value={name}
              onInput={(text) => enter({ name: text })}
              maxLength={100}
              disabled={!canUse('update', 'policies', 'name')}
              fault={faultOf('name')}
            />
            <TextField
              label={fieldText('description')}
              value={description}
              onInput={(text) => enter({ description: text })}
              lines={3}
              disabled={!canUse('update', 'policies', 'description')}
              fault={faultOf('description')}
            />
          </>
        )}
      </Form>
    </Dialog>
  );
}

function DeletePolicy({ policy }: { policy: PolicyItem }) {
  const [, navigate] = useLocation();
  const { id, name } = policy;
  const roles = (policy.roles ?? []).map((role) => role.name);
  const rules = policy.permissions?.length ?? 0;
  return (
    <Button
      kind="danger"
      icon="trash"
      onPress={() =>
        ask({
          title: t('policy_delete_title', { name }),
          text: (
            <>
              {roles.length > 0 && <p>{t('policy_delete_roles', { roles: roles.join(', ') })}</p>}
              {rules > 0 && <p>{tn('policy_delete_rules', rules)}</p>}
              <p>{t('policy_delete_text')}</p>
            </>
          ),
          action: t('policy_delete'),
          act: async () => {
            await remove('/policies/{id}', undefined, { params: { id } });
            toast(t('policy_deleted', { name }));
            navigate('/policies', { replace: true });
            // The policy itself is no longer on the screen by then.
            setTimeout(() => changed('policies', 'roles', 'permissions', 'users'));
          },
        })
      }
    >
      {t('policy_delete')}
    </Button>
  );
}
