import { useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { get, patch, remove } from '../../api/client.js';
import type { Permission, Role } from '../../api/types.js';
import { changed, useApi } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { useDraft } from '../../app/draft.js';
import type { ScreenProps } from '../../app/screens.js';
import { Button } from '../../components/button.js';
import { ask, Dialog } from '../../components/dialog.js';
import { Failure } from '../../components/failure.js';
import { TextField } from '../../components/field.js';
import { Form } from '../../components/form.js';
import { Copyable, Empty, Screen, Tabs } from '../../components/layout.js';
import { ManyPicker, type Picked, Picker } from '../../components/picker.js';
import type { PolicyOptions } from '../../components/rules/sentence.js';
import { toast } from '../../components/toast.js';
import { fieldText, t, tn } from '../../texts.js';
import { Members } from './members.js';
import { Rights } from './rights.js';

export interface PolicyOfRole extends PolicyOptions {
  id: string;
  name: string;
  permissions?: Permission[] | null;
}

export type RoleItem = Omit<Role, 'parent' | 'children' | 'policies'> & {
  id: string;
  name: string;
  parent?: { id: string; name: string; policies?: PolicyOfRole[] | null } | null;
  children?: { id: string; name: string }[] | null;
  policies?: PolicyOfRole[] | null;
};

const policyFields = ['id', 'name', 'admin_access', 'app_access', 'enforce_tfa', 'ip_access', 'permissions.*'];
const fields = [
  ...['id', 'name', 'description', 'parent.id', 'parent.name', 'children.id', 'children.name'],
  ...policyFields.flatMap((name) => [`policies.${name}`, `parent.policies.${name}`]),
];

/** More users are not counted when a role is deleted. */
const maxCounted = 100;

/** One role: what its users may do, and who they are. */
export default function RoleScreen({ params }: ScreenProps) {
  const { id = '', part } = params;
  const { isAdmin, can, canAll } = useAccess();
  const [isEditing, setIsEditing] = useState(false);
  const { data, failure, reload } = useApi('/roles/{id}', { params: { id }, query: { fields } });
  const role = data?.data as RoleItem | undefined;
  const parent = { href: '/roles', text: t('nav_roles') };
  // A rule could exclude this one, and the API has no way to try it out.
  const mayEdit = canAll('update', 'roles');
  if (role?.id !== id)
    return (
      <Screen title={t('role_title')} parent={parent}>
        {failure ? <Failure failure={failure} retry={reload} /> : <div class="screen-loading" aria-busy="true" />}
      </Screen>
    );
  const showsMembers = can('read', 'users');
  const isKnownPart = part === undefined || (part === 'members' && showsMembers);
  return (
    <Screen
      title={role.name}
      parent={parent}
      lead={
        <span class="user-lead">
          {role.description && <span>{role.description}</span>}
          <Copyable value={role.id} label={t('role_id')} />
        </span>
      }
      actions={
        <>
          {mayEdit && (
            <Button icon="edit" onPress={() => setIsEditing(true)}>
              {t('edit')}
            </Button>
          )}
          {isAdmin && <DeleteRole role={role} />}
        </>
      }
    >
      <Failure failure={failure} retry={reload} />
      <Tabs
        label={role.name}
        tabs={[
          { href: `/roles/${id}`, text: t('role_rights'), isCurrent: part === undefined },
          ...(showsMembers
            ? [{ href: `/roles/${id}/members`, text: t('roles_members'), isCurrent: part === 'members' }]
            : []),
        ]}
      />
      {!isKnownPart && (
        <Empty
          icon="search"
          title={t('not_found_title')}
          action={<Link href={`/roles/${id}`}>{t('role_rights')}</Link>}
        >
          {t('not_found')}
        </Empty>
      )}
      {isKnownPart && part === undefined && <Rights role={role} edit={() => setIsEditing(true)} />}
      {isKnownPart && part === 'members' && <Members role={role} />}
      {isEditing && (
        <EditRole
          role={role}
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

interface Draft {
  name?: string;
  description?: string;
  parent?: Picked | null;
  policies?: readonly Picked[];
}

function EditRole({ role, close, done }: { role: RoleItem; close: () => void; done: () => void }) {
  const { isAdmin, canUse } = useAccess();
  const [draft, enter, discard] = useDraft<Draft>(`role-${role.id}`, {});
  const { name = role.name, description = role.description ?? '' } = draft;
  const { parent = role.parent, policies = role.policies ?? [] } = draft;
  const params = { id: role.id };
  const idsOf = (list: readonly { id: string }[]) => list.map(({ id }) => id);
  const own = (field: string, value: unknown) => (canUse('update', 'roles', field) ? { [field]: value } : {});
  const save = async () => {
    const body = (values: { name: string; description: string; parent: string | null; policies: string[] }) => ({
      ...own('name', values.name),
      ...own('description', values.description || null),
      ...(isAdmin ? { parent: values.parent, policies: values.policies } : {}),
    });
    const before = body({
      name: role.name,
      description: role.description ?? '',
      parent: role.parent?.id ?? null,
      policies: idsOf(role.policies ?? []),
    });
    const send = (values: typeof before) =>
      patch('/roles/{id}', values, { params }).then(() => changed('roles', 'policies', 'permissions'));
    const next = { name: name.trim(), description: description.trim(), parent: parent?.id ?? null };
    await send(body({ ...next, policies: idsOf(policies) }));
    toast(t('role_saved', { name: name.trim() }), { undo: () => send(before) });
    discard(done);
  };
  return (
    <Dialog title={t('role_edit_title', { name: role.name })} onClose={close} size="large">
      <Form
        submit={t('save')}
        fields={['name', 'description', 'parent', 'policies']}
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
              disabled={!canUse('update', 'roles', 'name')}
              fault={faultOf('name')}
            />
            <TextField
              label={fieldText('description')}
              value={description}
              onInput={(text) => enter({ description: text })}
              lines={2}
              disabled={!canUse('update', 'roles', 'description')}
              fault={faultOf('description')}
            />
            {isAdmin && (
              <>
                <ManyPicker
                  kind="policies"
                  label={fieldText('policies')}
                  value={policies}
                  onChange={(next) => enter({ policies: next })}
                  hint={t('role_policies_hint')}
                />
                <Picker
                  kind="roles"
                  label={fieldText('parent')}
                  value={parent ?? undefined}
                  onChange={(next) => enter({ parent: next ?? null })}
                  hint={t('role_parent_hint')}
                />
                <p class="fault" role="alert">
                  {faultOf('parent') ?? faultOf('policies')}
                </p>
              </>
            )}
          </>
        )}
      </Form>
    </Dialog>
  );
}

function DeleteRole({ role }: { role: RoleItem }) {
  const [, navigate] = useLocation();
  const { id, name, children } = role;
  const confirm = async () => {
    const { data } = await get('/users', {
      query: { filter: { role: { _eq: id } }, fields: 'id', limit: maxCounted + 1 },
    });
    const count = data.length;
    ask({
      title: t('role_delete_title', { name }),
      text: (
        <>
          {count > maxCounted && <p>{t('role_delete_many', { count: maxCounted })}</p>}
          {count > 0 && count <= maxCounted && <p>{tn('role_delete_users', count)}</p>}
          {count === 0 && <p>{t('role_delete_nobody')}</p>}
          {children && children.length > 0 && (
            <p>{t('role_delete_children', { roles: children.map((child) => child.name).join(', ') })}</p>
          )}
          <p>{t('role_delete_text')}</p>
        </>
      ),
      action: t('role_delete'),
      act: async () => {
        await remove('/roles/{id}', undefined, { params: { id } });
        toast(t('role_deleted', { name }));
        navigate('/roles', { replace: true });
        // The role itself is no longer on the screen by then.
        setTimeout(() => changed('roles', 'users', 'policies', 'permissions'));
      },
    });
  };
  return (
    <Button kind="danger" icon="trash" onPress={confirm}>
      {t('role_delete')}
    </Button>
  );
}
