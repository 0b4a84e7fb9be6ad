import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { post } from '../../api/client.js';
import type { Schemas } from '../../api/types.js';
import { changed } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { useDraft } from '../../app/draft.js';
import { Button } from '../../components/button.js';
import { Dialog } from '../../components/dialog.js';
import { CheckField, listIn, SelectField, TextField } from '../../components/field.js';
import { Form } from '../../components/form.js';
import { nameOf } from '../../components/person.js';
import { ManyPicker, type Picked, type PickedKind, Picker } from '../../components/picker.js';
import { toast } from '../../components/toast.js';
import { type Field, fieldsOf } from '../../model/fields.js';
import { choiceText, fieldText, t } from '../../texts.js';

/** What every new user has. The other fields appear when the user asks for them. */
const usual = ['email', 'first_name', 'last_name', 'role', 'status'];
/** What only programs and imports write. */
const hidden = new Set(['id', 'avatar', 'token', 'last_access', 'last_page', 'provider', 'external_identifier']);
const pickable = new Set<string | undefined>(['roles', 'policies'] satisfies PickedKind[]);

const creatable = fieldsOf('users').filter(
  ({ name, creatable, type, collection }) =>
    creatable &&
    !hidden.has(name) &&
    type !== 'json' &&
    type !== 'time' &&
    (collection === undefined || pickable.has(collection)),
);
const inOrder = [
  ...usual.flatMap((name) => creatable.filter((field) => field.name === name)),
  ...creatable.filter(({ name }) => !usual.includes(name)),
];

type Values = Readonly<Record<string, unknown>>;

const idOf = (value: unknown): unknown => (typeof value === 'object' && value !== null ? (value as Picked).id : value);

/** The value of a field, as the API expects it. Undefined: the user has entered nothing. */
function writtenValue({ type }: Field, value: unknown): unknown {
  if (value === undefined || value === '') return undefined;
  if (type === 'relations') return (value as readonly Picked[]).map(idOf);
  if (type !== 'list') return idOf(value);
  return listIn(String(value));
}

/** Creates a user, without an invitation. */
export function CreateUser({ onClose }: { onClose: () => void }) {
  const { canUse } = useAccess();
  const [, navigate] = useLocation();
  const [showsAll, setShowsAll] = useState(false);
  const [draft, enter, discard] = useDraft<Values>('users-create', {});
  // A password is not kept, not even in this tab.
  const [password, setPassword] = useState('');
  const allowed = inOrder.filter(({ name }) => canUse('create', 'users', name));
  const shown = showsAll ? allowed : allowed.filter(({ name }) => usual.includes(name));
  const create = async () => {
    const values = Object.fromEntries(
      allowed
        .map((field) => [field.name, writtenValue(field, draft[field.name])])
        .filter(([, value]) => value !== undefined),
    );
    const body = { ...values, ...(password === '' ? {} : { password }) } as Schemas['NewUser'];
    const result = (await post('/users', body)) as { data?: { id?: string } } | undefined;
    void changed('users');
    discard(onClose);
    const id = result?.data?.id;
    toast(t('create_done', { name: nameOf(values) }));
    if (id) navigate(`/users/${id}`);
  };
  return (
    <Dialog title={t('create_title')} lead={t('create_lead')} size="large" onClose={onClose}>
      <Form
        submit={t('create_submit')}
        fields={[...allowed.map(({ name }) => name), 'password']}
        disabled={!draft.email}
        onSubmit={create}
        onCancel={() => discard(onClose)}
      >
        {(faultOf) => (
          <>
            <div class="form-grid">
              {shown.map((field) => (
                <ModelField
                  key={field.name}
                  field={field}
                  value={draft[field.name]}
                  onChange={(value) => enter({ [field.name]: value })}
                  fault={faultOf(field.name)}
                />
              ))}
              {canUse('create', 'users', 'password') && (
                <TextField
                  label={t('create_password')}
                  hint={t('create_password_hint')}
                  type="password"
                  autocomplete="new-password"
                  value={password}
                  onInput={setPassword}
                  fault={faultOf('password')}
                />
              )}
            </div>
            {allowed.length > shown.length && (
              <Button kind="quiet" icon="down" onPress={() => setShowsAll(true)}>
                {t('user_more_fields')}
              </Button>
            )}
          </>
        )}
      </Form>
    </Dialog>
  );
}

interface FieldProps {
  field: Field;
  value: unknown;
  onChange: (value: unknown) => void;
  fault: string | undefined;
}

function ModelField({ field, value, onChange, fault }: FieldProps) {
  const { name, type, choices = [], collection, maxLength } = field;
  const label = fieldText(name);
  const kind = collection as PickedKind;
  if (type === 'relation')
    return <Picker kind={kind} label={label} value={value as Picked | undefined} onChange={onChange} />;
  if (type === 'relations')
    return <ManyPicker kind={kind} label={label} value={(value ?? []) as Picked[]} onChange={onChange} />;
  if (type === 'boolean') return <CheckField label={label} checked={value === true} onChange={onChange} />;
  if (type === 'choice')
    return (
      <SelectField
        label={label}
        value={String(value ?? 'active')}
        fault={fault}
        options={choices.map((choice) => ({ value: choice, text: choiceText(choice) }))}
        onChange={onChange}
      />
    );
  return (
    <TextField
      label={label}
      value={String(value ?? '')}
      fault={fault}
      type={name === 'email' ? 'email' : 'text'}
      required={name === 'email'}
      onInput={onChange}
      {...(maxLength === undefined ? {} : { maxLength })}
      {...(type === 'list' ? { hint: t('user_list_hint') } : {})}
      {...(name === 'description' ? { lines: 3 } : {})}
    />
  );
}
