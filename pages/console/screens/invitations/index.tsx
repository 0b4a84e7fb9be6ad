import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { post, remove } from '../../api/client.js';
import type { User } from '../../api/types.js';
import { changed, usePage } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { useUrlState } from '../../app/url-state.js';
import { Button } from '../../components/button.js';
import { ask, Dialog } from '../../components/dialog.js';
import { Failure } from '../../components/failure.js';
import { TextField } from '../../components/field.js';
import { Form } from '../../components/form.js';
import { Empty, Screen } from '../../components/layout.js';
import { type Picked, Picker } from '../../components/picker.js';
import { SearchField } from '../../components/search-field.js';
import { type Column, Pager, Table } from '../../components/table.js';
import { Ago } from '../../components/time.js';
import { toast } from '../../components/toast.js';
import { fieldText, t, tn } from '../../texts.js';

type Invited = User & { role?: { id: string; name: string } | null };

/** The users who have been invited and have not accepted yet. */
export default function Invitations() {
  const { can } = useAccess();
  const [state, change] = useUrlState<'q' | 'new'>();
  const { q = '' } = state;
  const list = usePage<Invited>('/users', {
    fields: 'id,email,created_at,role.id,role.name',
    filter: { status: { _eq: 'invited' } },
    search: q,
    sort: '-created_at',
  });
  const mayInvite = can('create', 'users');

  const resend = (user: Invited) =>
    ask({
      title: t('user_resend_invitation_title', { name: user.email ?? '' }),
      text: t('user_resend_invitation_text', { email: user.email ?? '' }),
      action: t('user_resend_invitation'),
      isDangerous: false,
      act: async () => {
        await post('/users/invite', { email: user.email ?? '', ...(user.role ? { role: user.role.id } : {}) });
        toast(t('user_resend_invitation_done', { email: user.email ?? '' }));
      },
    });
  const revoke = (user: Invited) =>
    ask({
      title: t('invitations_revoke_title', { email: user.email ?? '' }),
      text: t('invitations_revoke_text'),
      action: t('invitations_revoke'),
      act: async () => {
        await remove('/users/{id}', undefined, { params: { id: user.id ?? '' } });
        void changed('users');
        toast(t('invitations_revoked', { email: user.email ?? '' }));
      },
    });

  const columns: readonly Column<Invited>[] = [
    {
      key: 'email',
      title: fieldText('email'),
      cell: ({ id, email }) => (
        <Link href={`/users/${id}`}>
          <strong>{email}</strong>
        </Link>
      ),
    },
    { key: 'role', title: fieldText('role'), cell: ({ role }) => role?.name ?? <span class="muted">{t('none')}</span> },
    {
      key: 'created_at',
      title: t('invitations_since'),
      cell: ({ created_at }) => <Ago time={created_at} />,
      isSecondary: true,
    },
    {
      key: 'actions',
      title: t('user_actions'),
      align: 'end',
      cell: (user) => (
        <span class="cell-actions">
          {mayInvite && <Button onPress={() => resend(user)}>{t('invitations_resend')}</Button>}
          {can('delete', 'users') && (
            <Button kind="danger" onPress={() => revoke(user)}>
              {t('invitations_revoke')}
            </Button>
          )}
        </span>
      ),
    },
  ];
  const inviteButton = (
    <Button kind="primary" icon="plus" onPress={() => change({ new: 'yes' })}>
      {t('invitations_new')}
    </Button>
  );
  return (
    <Screen title={t('nav_invitations')} lead={t('invitations_lead')} {...(mayInvite ? { actions: inviteButton } : {})}>
      <div class="toolbar">
        <SearchField
          label={t('users_search')}
          value={q}
          onSearch={(search) => change({ q: search }, { replace: true })}
        />
      </div>
      <Failure failure={list.failure} retry={list.reload} />
      <Table
        label={t('nav_invitations')}
        columns={columns}
        rows={list.data}
        rowKey={({ id }) => id ?? ''}
        rowName={({ email }) => email ?? ''}
        isLoading={list.isLoading}
        empty={
          <Empty icon="invitation" title={t('invitations_none_title')} {...(mayInvite ? { action: inviteButton } : {})}>
            {t('invitations_none')}
          </Empty>
        }
      />
      <Pager number={list.number} next={list.next} previous={list.previous} />
      {state.new && mayInvite && <Invite close={() => change({ new: undefined })} />}
    </Screen>
  );
}

const addressesIn = (text: string): string[] =>
  text
    .split(/[\s,;]+/)
    .map((part) => part.trim())
    .filter((part) => part !== '');

function Invite({ close }: { close: () => void }) {
  const [typed, setTyped] = useState('');
  const [role, setRole] = useState<Picked>();
  const addresses = addressesIn(typed);
  const send = async () => {
    await post('/users/invite', { email: addresses, ...(role ? { role: role.id } : {}) });
    void changed('users');
    toast(tn('invitations_sent', addresses.length));
    close();
  };
  return (
    <Dialog title={t('invitations_new_title')} lead={t('invitations_new_lead')} onClose={close}>
      <Form
        submit={addresses.length > 1 ? tn('invitations_send', addresses.length) : t('invitations_send_one')}
        fields={['email', 'role']}
        onSubmit={send}
        onCancel={close}
        disabled={addresses.length === 0}
      >
        {(faultOf) => (
          <>
            <TextField
              label={t('invitations_addresses')}
              hint={t('invitations_addresses_hint')}
              value={typed}
              onInput={setTyped}
              lines={3}
              fault={faultOf('email')}
            />
            <Picker kind="roles" label={fieldText('role')} value={role} onChange={setRole} />
          </>
        )}
      </Form>
    </Dialog>
  );
}
