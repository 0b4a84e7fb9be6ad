import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { patch } from '../../api/client.js';
import { changed } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { useDraft } from '../../app/draft.js';
import { Button } from '../../components/button.js';
import { Dialog } from '../../components/dialog.js';
import { Form } from '../../components/form.js';
import { Card, Fact, Facts } from '../../components/layout.js';
import { nameOf } from '../../components/person.js';
import { ManyPicker, type Picked, Picker } from '../../components/picker.js';
import { simulatorHref } from '../../components/rules/simulation.js';
import { toast } from '../../components/toast.js';
import { fieldText, t } from '../../texts.js';
import type { UserItem } from './index.js';

interface Props {
  user: UserItem;
  reload: () => void;
}

/** The role and the policies of the user. Only administrators can change them. */
export function Rights({ user, reload }: Props) {
  const { isAdmin } = useAccess();
  const [isEditing, setIsEditing] = useState(false);
  const policies = user.policies ?? [];
  return (
    <>
      <Card
        title={t('user_role_and_policies')}
        lead={t('user_role_and_policies_lead')}
        {...(isAdmin
          ? {
              actions: (
                <Button icon="edit" onPress={() => setIsEditing(true)}>
                  {t('edit')}
                </Button>
              ),
            }
          : {})}
      >
        <Facts>
          {user.role !== undefined && (
            <Fact name={fieldText('role')}>
              {user.role ? (
                <Link href={`/roles/${user.role.id}`}>{user.role.name}</Link>
              ) : (
                <span class="muted">{t('none')}</span>
              )}
            </Fact>
          )}
          {user.policies !== undefined && (
            <Fact name={fieldText('policies')}>
              {policies.length === 0 ? (
                <span class="muted">{t('none')}</span>
              ) : (
                <ul class="plain-list">
                  {policies.map(({ id, name }) => (
                    <li key={id}>
                      <Link href={`/policies/${id}`}>{name}</Link>
                    </li>
                  ))}
                </ul>
              )}
            </Fact>
          )}
        </Facts>
        {isAdmin && (
          <Link href={simulatorHref({ kind: 'user', id: user.id, name: nameOf(user, user.id) }, 'users')}>
            {t('simulator_open')}
          </Link>
        )}
      </Card>
      {isEditing && (
        <EditRights
          user={user}
          close={() => setIsEditing(false)}
          done={() => {
            reload();
            setIsEditing(false);
          }}
        />
      )}
    </>
  );
}

interface Draft {
  role?: Picked | null;
  policies?: readonly Picked[];
}

function EditRights({ user, close, done }: { user: UserItem; close: () => void; done: () => void }) {
  const [draft, enter, discard] = useDraft<Draft>(`user-rights-${user.id}`, {});
  const { role = user.role, policies = user.policies ?? [] } = draft;
  const params = { id: user.id };
  const save = async () => {
    const before = { role: user.role?.id ?? null, policies: (user.policies ?? []).map(({ id }) => id) };
    await patch('/users/{id}', { role: role?.id ?? null, policies: policies.map(({ id }) => id) }, { params });
    void changed('users', 'roles', 'policies');
    toast(t('user_rights_saved', { name: nameOf(user, user.id) }), {
      undo: () => patch('/users/{id}', before, { params }).then(() => changed('users')),
    });
    discard(done);
  };
  return (
    <Dialog
      title={t('user_rights_title', { name: nameOf(user, user.id) })}
      lead={t('user_rights_lead')}
      onClose={close}
      size="large"
    >
      <Form submit={t('save')} fields={['role', 'policies']} onSubmit={save} onCancel={() => discard(close)}>
        {() => (
          <>
            <Picker
              kind="roles"
              label={fieldText('role')}
              value={role ?? undefined}
              onChange={(next) => enter({ role: next ?? null })}
            />
            <ManyPicker
              kind="policies"
              label={fieldText('policies')}
              value={policies}
              onChange={(next) => enter({ policies: next })}
            />
          </>
        )}
      </Form>
    </Dialog>
  );
}
