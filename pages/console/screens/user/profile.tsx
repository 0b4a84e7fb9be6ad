import { useState } from 'preact/hooks';
import { patch } from '../../api/client.js';
import type { Schemas } from '../../api/types.js';
import { changed } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { useEdits, type Values } from '../../app/edits.js';
import { Button } from '../../components/button.js';
import { Form } from '../../components/form.js';
import { Card, Fact, Facts } from '../../components/layout.js';
import { nameOf } from '../../components/person.js';
import { Ago, Time } from '../../components/time.js';
import { ValueField } from '../../components/value-field.js';
import { fieldsOf } from '../../model/fields.js';
import { choiceText, fieldText, t } from '../../texts.js';
import type { PartProps } from './index.js';
import { SignInState } from './sign-in-state.js';

/** What other parts of the screen show or change. */
const elsewhere = new Set([
  'id',
  'status',
  'role',
  'policies',
  'tfa_secret',
  'token',
  'password',
  'avatar',
  'auth_data',
]);
/** What the card on the right shows. */
const facts = ['created_at', 'email_verified_at', 'last_access'] as const;
/** What everybody looks for first. */
const usual = ['first_name', 'last_name', 'email', 'title', 'location', 'language', 'description', 'tags'];

const editable = fieldsOf('users').filter(
  ({ name, updatable, type }) =>
    updatable && !elsewhere.has(name) && !(facts as readonly string[]).includes(name) && type !== 'json',
);
const inOrder = [
  ...usual.flatMap((name) => editable.filter((field) => field.name === name)),
  ...editable.filter(({ name }) => !usual.includes(name)),
];

export function Profile({ user, isInReach, reload }: PartProps) {
  const { canUse, isAdmin, me } = useAccess();
  // What the caller may not read of this user is null, because they may read every field of their own account.
  const isCertain = isAdmin || user.id === me.id;
  const [showsAll, setShowsAll] = useState(false);
  const readable = inOrder.filter(({ name }) => name in user);
  const mayEdit = (name: string) => isInReach && canUse('update', 'users', name);
  const shown = showsAll ? readable : readable.filter(({ name }) => usual.includes(name));
  const send = (values: Values) =>
    patch('/users/{id}', values as Schemas['UserChangesById'], { params: { id: user.id } }).then(() => {
      void changed('users');
    });
  const edits = useEdits(`user-${user.id}`, user as Values, {
    reread: reload as () => Promise<Values | undefined>,
    send,
    saved: (values) => t('user_saved', { name: nameOf({ ...user, ...values }, user.id) }),
  });
  return (
    <div class="split is-aside-first">
      <Card title={t('user_profile')}>
        <Form
          submit={readable.some(({ name }) => mayEdit(name)) ? t('save') : undefined}
          fields={readable.map(({ name }) => name)}
          onSubmit={edits.save}
          disabled={!edits.hasChanges}
          {...(edits.hasChanges ? { onCancel: edits.discard } : {})}
        >
          {(faultOf) => (
            <>
              <div class="form-grid">
                {shown.map((field) => (
                  <ValueField
                    key={field.name}
                    field={field}
                    label={fieldText(field.name)}
                    hint={field.type === 'list' ? t('user_list_hint') : undefined}
                    // An empty list is stored as null.
                    value={edits.valueOf(field.name)}
                    onChange={(value) =>
                      edits.set(field.name, Array.isArray(value) && value.length === 0 ? null : value)
                    }
                    disabled={!mayEdit(field.name)}
                    fault={faultOf(field.name)}
                    choiceText={choiceText}
                    noChoice={t('none')}
                    placeholder={isCertain ? undefined : t('user_not_visible')}
                    type={field.name === 'email' ? 'email' : 'text'}
                    lines={field.name === 'description' ? 3 : undefined}
                  />
                ))}
              </div>
              {readable.length > shown.length && (
                <Button kind="quiet" icon="down" onPress={() => setShowsAll(true)}>
                  {t('user_more_fields')}
                </Button>
              )}
            </>
          )}
        </Form>
      </Card>
      <div>
        <SignInState user={user} isInReach={isInReach} reload={reload} />
        <Card title={t('user_facts')}>
          <Facts>
            {'last_access' in user && (
              <Fact name={fieldText('last_access')}>
                <Ago time={user.last_access} otherwise={t('never')} />
              </Fact>
            )}
            {'created_at' in user && (
              <Fact name={fieldText('created_at')}>
                <Time time={user.created_at} />
              </Fact>
            )}
            {'email_verified_at' in user && (
              <Fact name={fieldText('email_verified_at')}>
                <Time
                  time={user.email_verified_at}
                  otherwise={t(isCertain ? 'user_not_verified' : 'user_not_visible')}
                />
              </Fact>
            )}
            {'provider' in user && <Fact name={fieldText('provider')}>{user.provider}</Fact>}
            {user.external_identifier && (
              <Fact name={fieldText('external_identifier')}>{user.external_identifier}</Fact>
            )}
          </Facts>
        </Card>
      </div>
    </div>
  );
}
