import { remove } from '../../api/client.js';
import { changed, useApi } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { ask } from '../../components/dialog.js';
import { Failure } from '../../components/failure.js';
import { Icon } from '../../components/icon.js';
import { Card } from '../../components/layout.js';
import { nameOf } from '../../components/person.js';
import { Ago, Time } from '../../components/time.js';
import { toast } from '../../components/toast.js';
import { t, tn } from '../../texts.js';
import { askToResetSecondFactor, mayChange } from './help.js';
import type { PartProps, UserItem } from './index.js';
import { RemovableLines, Used } from './removable-lines.js';

/** How the user signs in, and where they are signed in. */
export function Security(props: PartProps) {
  const { user, isInReach, reload } = props;
  const access = useAccess();
  const { isAdmin, can, canAll } = access;
  const mayReset = mayChange(access, props, 'tfa_secret');
  return (
    <>
      {'tfa_secret' in user && <SecondFactor user={user} reload={reload} mayReset={mayReset} />}
      {isAdmin && <Passkeys user={user} />}
      {isAdmin && <Identities user={user} reloadUser={reload} />}
      {isInReach && can('read', 'sessions') && <Sessions user={user} mayEndAll={canAll('delete', 'sessions')} />}
    </>
  );
}

function SecondFactor({ user, reload, mayReset }: Omit<PartProps, 'isInReach'> & { mayReset: boolean }) {
  const isOn = user.tfa_secret !== null;
  return (
    <Card title={t('user_tfa')}>
      <div class="line">
        <Icon name={isOn ? 'shield' : 'phone'} />
        <div class="line-text">
          <strong>{t('user_tfa_app')}</strong>
          <span class="hint">{t(isOn ? 'user_tfa_on' : 'user_tfa_off')}</span>
        </div>
        {isOn && mayReset && (
          <Button kind="danger" onPress={() => askToResetSecondFactor(user, reload)}>
            {t('user_tfa_reset')}
          </Button>
        )}
      </div>
    </Card>
  );
}

function Passkeys({ user }: { user: UserItem }) {
  return (
    <RemovableLines
      title={t('user_passkeys')}
      loaded={useApi('/users/{id}/passkeys', { params: { id: user.id } })}
      none={t('user_passkeys_none')}
      icon="key"
      line={({ name, backed_up, ...times }) => (
        <>
          <strong>{name}</strong>
          <span class="hint">
            <Used {...times} />
            {backed_up && ` · ${t('user_synced')}`}
          </span>
        </>
      )}
      removal={({ id, name }) => ({
        title: t('user_passkey_remove_title', { name }),
        text: t('user_passkey_remove_text', { user: nameOf(user, user.id) }),
        action: t('remove'),
        act: () => remove('/users/{id}/passkeys/{passkey}', undefined, { params: { id: user.id, passkey: id } }),
        done: t('user_passkey_removed', { name }),
      })}
    />
  );
}

function Identities({ user, reloadUser }: { user: UserItem; reloadUser: () => void }) {
  const { data: providers } = useApi('/auth');
  const labelOf = (key: string) => providers?.data.find(({ name }) => name === key)?.label ?? key;
  const loaded = useApi('/users/{id}/identities', { params: { id: user.id } });
  const manager = loaded.data?.data.find(({ managed }) => managed)?.provider;
  return (
    <RemovableLines
      title={t('user_identities')}
      lead={manager && t('user_identities_managed', { provider: labelOf(manager) })}
      isFixed={manager !== undefined}
      loaded={loaded}
      none={t('user_identities_none')}
      icon="link"
      line={({ provider, external_identifier, email, primary, ...times }) => (
        <>
          <strong>
            {labelOf(provider)} {primary && <Badge>{t('user_identity_primary')}</Badge>}
          </strong>
          <span class="hint">
            {email && `${email} · `}
            <code>{external_identifier}</code>
          </span>
          <span class="hint">
            <Used {...times} />
          </span>
        </>
      )}
      removal={({ id, provider, email, external_identifier }) => {
        const names = { provider: labelOf(provider), account: email ?? external_identifier };
        return {
          title: t('user_identity_unlink_title', names),
          text: t('user_identity_unlink_text', { user: nameOf(user, user.id) }),
          action: t('user_identity_unlink'),
          act: async () => {
            await remove('/users/{id}/identities/{identity}', undefined, { params: { id: user.id, identity: id } });
            // The primary account of a user is also a field of the user.
            reloadUser();
            void changed('sessions');
          },
          done: t('user_identity_unlinked', names),
        };
      }}
    />
  );
}

function Sessions({ user, mayEndAll }: { user: UserItem; mayEndAll: boolean }) {
  const { data, failure, reload } = useApi('/users/{id}/sessions', { params: { id: user.id } });
  const sessions = data?.data ?? [];
  const name = nameOf(user, user.id);
  const end = (device: string, act: () => Promise<unknown>) =>
    ask({
      title: t('user_session_end_title', { device }),
      text: t('user_session_end_text', { name }),
      action: t('user_session_end'),
      act: async () => {
        // If it failed, the session has probably ended in the meantime.
        await act().finally(reload);
        void changed('sessions');
        toast(t('user_session_ended', { device }));
      },
    });
  return (
    <Card
      title={t('user_sessions')}
      {...(sessions.length > 1 && mayEndAll
        ? {
            actions: (
              <Button
                kind="danger"
                onPress={() =>
                  end(tn('user_sessions_count', sessions.length), () =>
                    remove('/users/{id}/sessions', undefined, { params: { id: user.id } }),
                  )
                }
              >
                {t('user_sessions_end_all')}
              </Button>
            ),
          }
        : {})}
    >
      <Failure failure={failure} retry={reload} />
      {data && sessions.length === 0 && <p class="muted">{t('user_sessions_none')}</p>}
      <ul class="lines">
        {sessions.map(
          ({ id = '', device, user_agent, address, created_at, last_used_at, current, applications, can_end }) => (
            <li class="line" key={id}>
              <Icon name="device" />
              <div class="line-text">
                <strong>
                  {device ?? user_agent ?? t('user_device_unknown')}{' '}
                  {current && <Badge tone="good">{t('user_this_session')}</Badge>}
                </strong>
                <span class="hint">
                  {address && `${address} · `}
                  {t('user_signed_in')} <Time time={created_at} /> · {t('user_used')} <Ago time={last_used_at} />
                  {applications?.length ? ` · ${applications.map((one) => one.name).join(', ')}` : ''}
                </span>
              </div>
              {can_end && id !== '' && (
                <Button
                  onPress={() =>
                    end(device ?? t('user_device_unknown'), () =>
                      remove('/users/{id}/sessions/{session}', undefined, { params: { id: user.id, session: id } }),
                    )
                  }
                >
                  {t('user_session_end')}
                </Button>
              )}
            </li>
          ),
        )}
      </ul>
    </Card>
  );
}
