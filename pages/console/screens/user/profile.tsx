import { useState } from 'preact/hooks';
import { patch } from '../../api/client.js';
import type { Schemas } from '../../api/types.js';
import { changed } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { useDraft } from '../../app/draft.js';
import { Button } from '../../components/button.js';
import { CheckField, SelectField, TextField } from '../../components/field.js';
import { Form } from '../../components/form.js';
import { Card, Fact, Facts } from '../../components/layout.js';
import { nameOf } from '../../components/person.js';
import { Ago, Time } from '../../components/time.js';
import { toast } from '../../components/toast.js';
import { type Field, fieldsOf } from '../../model/fields.js';
import { choiceText, fieldText, t } from '../../texts.js';
import type { UserItem } from './index.js';
import { LastFailure } from './last-failure.js';

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

type Values = Record<string, unknown>;

const storedValue = (user: UserItem, name: string): unknown => (user as Values)[name] ?? null;
/** Texts that are empty are stored as null, and lists are written with commas. */
const toInput = (value: unknown): string =>
  Array.isArray(value) ? value.join(', ') : value === null ? '' : String(value);
const fromInput = (field: Field, input: string): unknown => {
  if (input.trim() === '') return null;
  return field.type === 'list'
    ? input
        .split(',')
        .map((part) => part.trim())
        .filter(Boolean)
    : input;
};

interface Props {
  user: UserItem;
  reload: () => void;
}

export function Profile({ user, reload }: Props) {
  const { canUse } = useAccess();
  const [showsAll, setShowsAll] = useState(false);
  const readable = inOrder.filter(({ name }) => name in user);
  const shown = showsAll ? readable : readable.filter(({ name }) => usual.includes(name));
  const [draft, setDraft, clearDraft] = useDraft<Values>(`user-${user.id}`, {});
  const changes = Object.fromEntries(
    Object.entries(draft).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(storedValue(user, name))),
  );
  const set = (name: string, value: unknown) => setDraft({ ...draft, [name]: value });
  const save = async () => {
    const before = Object.fromEntries(Object.keys(changes).map((name) => [name, storedValue(user, name)]));
    const send = (values: Values) =>
      patch('/users/{id}', values as Schemas['UserChangesById'], { params: { id: user.id } }).then(reload);
    await send(changes);
    clearDraft();
    void changed('users');
    toast(t('user_saved', { name: nameOf(user, user.id) }), { undo: () => send(before) });
  };
  return (
    <div class="split">
      <Card title={t('user_profile')}>
        <Form
          submit={t('save')}
          fields={readable.map(({ name }) => name)}
          onSubmit={save}
          disabled={Object.keys(changes).length === 0}
          {...(Object.keys(changes).length > 0 ? { onCancel: clearDraft } : {})}
        >
          {(faultOf) => (
            <>
              <div class="form-grid">
                {shown.map((field) => (
                  <FieldInput
                    key={field.name}
                    field={field}
                    value={field.name in draft ? draft[field.name] : storedValue(user, field.name)}
                    onChange={(value) => set(field.name, value)}
                    disabled={!canUse('update', 'users', field.name)}
                    fault={faultOf(field.name)}
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
        <LastFailure user={user} />
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
                <Time time={user.email_verified_at} otherwise={t('user_not_verified')} />
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

interface InputProps {
  field: Field;
  value: unknown;
  onChange: (value: unknown) => void;
  disabled: boolean;
  fault: string | undefined;
}

function FieldInput({ field, value, onChange, disabled, fault }: InputProps) {
  const label = fieldText(field.name);
  if (field.type === 'boolean')
    return <CheckField label={label} checked={value === true} disabled={disabled} onChange={onChange} />;
  if (field.type === 'choice')
    return (
      <SelectField
        label={label}
        value={toInput(value)}
        disabled={disabled}
        fault={fault}
        options={[
          { value: '', text: t('none') },
          ...(field.choices ?? []).map((one) => ({ value: one, text: choiceText(one) })),
        ]}
        onChange={(next) => onChange(next === '' ? null : next)}
      />
    );
  return (
    <TextField
      label={label}
      value={toInput(value)}
      disabled={disabled}
      fault={fault}
      type={field.name === 'email' ? 'email' : 'text'}
      onInput={(input) => onChange(fromInput(field, input))}
      {...(field.type === 'list' ? { hint: t('user_list_hint') } : {})}
      {...(field.name === 'description' ? { lines: 3 } : {})}
    />
  );
}
