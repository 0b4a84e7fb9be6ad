import { patch } from '../../api/client.js';
import type { Schemas, Settings } from '../../api/types.js';
import { useApi } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { useEdits, type Values } from '../../app/edits.js';
import { Badge } from '../../components/badge.js';
import { Failure } from '../../components/failure.js';
import { SelectField, TextField } from '../../components/field.js';
import { Form } from '../../components/form.js';
import { Card, Fact, Facts, Screen } from '../../components/layout.js';
import { Picker } from '../../components/picker.js';
import { ValueField } from '../../components/value-field.js';
import { type Field, fieldsOf } from '../../model/fields.js';
import { page } from '../../page-data.js';
import { choiceText, numberText, type TextKey, t, textIfAny } from '../../texts.js';

/** The settings in groups. Those that no group names, such as new ones, are in the last group. */
const groups = [
  { text: 'settings_project', names: ['project_name', 'project_color', 'project_logo', 'default_language'] },
  {
    text: 'settings_registration',
    names: [
      'public_registration',
      'public_registration_verify_email',
      'public_registration_role',
      'public_registration_email_filter',
    ],
  },
  { text: 'settings_sign_in', names: ['email_login', 'auth_login_attempts', 'auth_password_policy'] },
  { text: 'settings_accounts', names: ['self_service', 'self_deletion'] },
  { text: 'settings_access', names: ['public_policy'] },
] as const satisfies readonly { text: TextKey; names: readonly string[] }[];

const named = new Set<string>(groups.flatMap(({ names }) => names));
const editable = fieldsOf('settings').filter(({ updatable }) => updatable);
const allGroups = [
  ...groups.map(({ text, names }) => ({
    text,
    fields: names.flatMap((name) => editable.filter((field) => field.name === name)),
  })),
  { text: 'settings_other' as const, fields: editable.filter(({ name }) => !named.has(name)) },
];

/** Which settings name an item of another collection. */
const pickers: Readonly<Record<string, 'roles' | 'policies'>> = {
  public_registration_role: 'roles',
  public_policy: 'policies',
};

/** The settings of the project, its providers, and the state of the service. */
export default function SettingsScreen() {
  const { data, failure, reload } = useApi('/settings');
  const settings = data?.data as Settings | undefined;
  return (
    <Screen title={t('nav_settings')} isNarrow>
      <Failure failure={failure} retry={reload} />
      {settings &&
        allGroups
          .filter(({ fields }) => fields.some(({ name }) => name in settings))
          .map(({ text, fields }) => (
            <Group
              key={text}
              title={t(text)}
              fields={fields}
              settings={settings}
              reload={async () => (await reload())?.data as Settings | undefined}
            />
          ))}
      <Providers />
      <State />
    </Screen>
  );
}

interface GroupProps {
  title: string;
  fields: readonly Field[];
  settings: Settings;
  /** Reads the settings again. */
  reload: () => Promise<Settings | undefined>;
}

function Group({ title, fields, settings, reload }: GroupProps) {
  const { canUse } = useAccess();
  const shown = fields.filter(({ name }) => name in settings);
  const json = shown.filter(({ type }) => type === 'json').map(({ name }) => name);
  const send = (values: Values) =>
    patch(
      '/settings',
      mapped(values, json, (text) => parseJson(String(text))?.value),
    ).then(reload);
  const shownAs = (stored: Settings) => mapped(stored as Values, json, jsonText);
  const edits = useEdits(`settings-${fields[0]?.name}`, shownAs(settings), {
    reread: async () => {
      const stored = await reload();
      return stored && shownAs(stored);
    },
    send,
    saved: () => t('settings_saved', { group: title }),
  });
  const isValid = json.every((name) => parseJson(String(edits.valueOf(name))));
  return (
    <Card title={title}>
      <Form
        submit={t('save')}
        fields={shown.map(({ name }) => name)}
        onSubmit={edits.save}
        disabled={!edits.hasChanges || !isValid}
        {...(edits.hasChanges ? { onCancel: edits.discard } : {})}
      >
        {(faultOf) =>
          shown.map((field) => (
            <Setting
              key={field.name}
              field={field}
              value={edits.valueOf(field.name)}
              disabled={!canUse('update', 'settings', field.name)}
              fault={faultOf(field.name)}
              onChange={(value) => edits.set(field.name, value)}
            />
          ))
        }
      </Form>
    </Card>
  );
}

/** Settings that are JSON, such as a filter, are edited as texts, which need not be valid while the user types. */
const jsonText = (value: unknown): string =>
  value === null || value === undefined ? '' : JSON.stringify(value, null, 2);

/** @returns undefined if the text is not valid */
function parseJson(text: string): { value: unknown } | undefined {
  try {
    return { value: text.trim() === '' ? null : JSON.parse(text) };
  } catch {
    return undefined;
  }
}

const mapped = (values: Values, names: readonly string[], map: (value: unknown) => unknown): Values =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, names.includes(name) ? map(value) : value]));

interface SettingProps {
  field: Field;
  value: unknown;
  disabled: boolean;
  fault: string | undefined;
  onChange: (value: unknown) => void;
}

function Setting({ field, value, disabled, fault, onChange }: SettingProps) {
  const { name, type } = field;
  const label = textIfAny(`settings_${name}`) ?? name;
  const hint = textIfAny(`settings_${name}_hint`);
  const labeled = { label, fault, disabled, ...(hint === undefined ? {} : { hint }) };
  const kind = pickers[name];
  if (kind)
    return <PickedSetting kind={kind} label={label} hint={hint} id={value} disabled={disabled} onChange={onChange} />;
  if (name === 'default_language')
    return (
      <SelectField
        {...labeled}
        value={String(value)}
        options={page.languages.map(({ tag, name: text }) => ({ value: tag, text }))}
        onChange={onChange}
      />
    );
  if (type === 'json') {
    const text = String(value);
    return (
      <TextField
        {...labeled}
        lines={4}
        value={text}
        onInput={onChange}
        fault={parseJson(text) ? fault : t('settings_json_fault')}
      />
    );
  }
  return <ValueField {...labeled} field={field} value={value} onChange={onChange} choiceText={choiceText} />;
}

interface PickedProps {
  kind: 'roles' | 'policies';
  label: string;
  hint: string | undefined;
  id: unknown;
  disabled: boolean;
  onChange: (id: string | null) => void;
}

function PickedSetting({ kind, label, hint, id, disabled, onChange }: PickedProps) {
  const key = typeof id === 'string' ? id : undefined;
  const path = kind === 'roles' ? '/roles/{id}' : '/policies/{id}';
  const { data } = useApi(key === undefined ? undefined : path, {
    params: { id: key ?? '' },
    query: { fields: 'id,name' },
  });
  const name = (data?.data as { name?: string } | undefined)?.name ?? key;
  if (disabled)
    return (
      <div class="field">
        <span class="label">{label}</span>
        <span>{key === undefined ? t('none') : name}</span>
      </div>
    );
  return (
    <Picker
      kind={kind}
      label={label}
      value={key === undefined ? undefined : { id: key, name: name ?? key }}
      onChange={(picked) => onChange(picked?.id ?? null)}
      {...(hint === undefined ? {} : { hint })}
    />
  );
}

/** How users can sign in through other systems. The configuration of the service decides this. */
function Providers() {
  const { data, failure, reload } = useApi('/auth');
  const providers = data?.data ?? [];
  return (
    <Card title={t('settings_providers')} lead={t('settings_providers_lead')}>
      <Failure failure={failure} retry={reload} />
      {data && providers.length === 0 && <p class="muted">{t('settings_providers_none')}</p>}
      {providers.length > 0 && (
        <ul class="lines">
          {providers.map(({ name, label, driver }) => (
            <li class="line" key={name}>
              <span class="line-text">
                <strong>{label ?? name}</strong>
                <span class="hint">{name}</span>
              </span>
              <Badge>{driver === 'openid' ? 'OpenID Connect' : 'OAuth 2.0'}</Badge>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

/** What the service depends on. */
const checkNames = ['database', 'redis', 'writes'] as const;

/** Whether the service and its database work. Only administrators see the details. */
function State() {
  const { data } = useApi('/server/health', { refreshMs: 30_000 });
  const health = data as Schemas['Health'] | undefined;
  if (!health?.checks) return null;
  const { version, checks } = health;
  return (
    <Card title={t('settings_state')}>
      <Facts>
        {version && <Fact name={t('settings_version')}>{version}</Fact>}
        {checkNames
          .flatMap((name) => {
            const check = checks[name];
            return check === undefined ? [] : [{ name, check }];
          })
          .map(({ name, check }) => (
            <Fact key={name} name={textIfAny(`settings_check_${name}`) ?? name}>
              <Badge tone={check.status === 'ok' ? 'good' : 'bad'}>{check.status}</Badge>{' '}
              {'latency_ms' in check && (
                <span class="muted">{t('settings_latency', { ms: numberText(Math.round(check.latency_ms)) })}</span>
              )}
            </Fact>
          ))}
      </Facts>
    </Card>
  );
}
