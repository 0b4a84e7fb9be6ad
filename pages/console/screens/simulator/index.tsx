import { useApi } from '../../api/use-api.js';
import { useUrlState } from '../../app/url-state.js';
import { Button } from '../../components/button.js';
import { SelectField, TextField } from '../../components/field.js';
import { Card, Empty, Screen, Tabs } from '../../components/layout.js';
import { nameOf } from '../../components/person.js';
import { type Picked, type PickedKind, Picker } from '../../components/picker.js';
import type { Subject } from '../../components/rules/explanation.js';
import { actionsOn, fieldNames } from '../../components/rules/rule.js';
import { useRuleCollections } from '../../components/rules/rule-collections.js';
import { collectionText } from '../../components/rules/sentence.js';
import { SubjectPicker } from '../../components/rules/subject-picker.js';
import { Verdicts } from '../../components/rules/verdict.js';
import { fieldText, t } from '../../texts.js';
import { WhoCan } from './who-can.js';

export type SimulatorState = 'as' | 'collection' | 'item' | 'field' | 'ip' | 'view' | 'action';

/** What someone can do and why, and who can do something. */
export default function Simulator() {
  const [state, change] = useUrlState<SimulatorState>();
  const isReverse = state.view === 'who';
  return (
    <Screen title={t('nav_simulator')} lead={t('simulator_lead')}>
      <Tabs
        label={t('nav_simulator')}
        tabs={[
          { href: '/simulator', text: t('simulator_what'), isCurrent: !isReverse },
          { href: '/simulator?view=who', text: t('simulator_who'), isCurrent: isReverse },
        ]}
      />
      {isReverse ? <WhoCan state={state} change={change} /> : <WhatMay state={state} change={change} />}
    </Screen>
  );
}

export interface StateProps {
  state: Partial<Record<SimulatorState, string>>;
  change: (changes: Partial<Record<SimulatorState, string | undefined>>, options?: { replace?: boolean }) => void;
}

/** The subject that the URL names, such as `role:…`. */
function useSubject(as: string | undefined): Subject | undefined {
  const [kind = '', id = ''] = (as ?? '').split(':');
  const role = useApi(kind === 'role' ? '/roles/{id}' : undefined, { params: { id }, query: { fields: 'id,name' } });
  const user = useApi(kind === 'user' ? '/users/{id}' : undefined, {
    params: { id },
    query: { fields: 'id,first_name,last_name,email' },
  });
  if (kind === 'public') return { kind: 'public' };
  if (kind === 'role') return { kind, id, name: role.data?.data.name ?? '…' };
  if (kind === 'user') return { kind, id, name: user.data ? nameOf(user.data.data, id) : '…' };
  return undefined;
}

const withPicker: readonly string[] = ['users', 'roles', 'policies'];

/** Collections whose items callers reach only if they have the rights of the user that an item is about. */
const aboutUsers: readonly string[] = ['activity', 'mails', 'sessions'];

function WhatMay({ state, change }: StateProps) {
  const { as, collection = 'users', item, field, ip } = state;
  const collections = useRuleCollections();
  const subject = useSubject(as);
  const fields = fieldNames(collection, 'read');
  const picked = usePicked(collection, item);
  return (
    <div class="simulator">
      <Card>
        <SubjectPicker
          value={subject}
          onChange={(next) => {
            const to = next && (next.kind === 'public' ? 'public' : `${next.kind}:${next.id}`);
            change({ as: to });
          }}
        />
        <SelectField
          label={t('simulator_collection')}
          value={collection}
          options={(collections.length > 0 ? collections : [collection]).map((value) => ({
            value,
            text: collectionText(value),
          }))}
          onChange={(next) => change({ collection: next, item: undefined, field: undefined })}
        />
        {withPicker.includes(collection) && (
          <Picker
            kind={collection as PickedKind}
            label={t('simulator_item')}
            hint={t('simulator_item_hint')}
            value={picked}
            onChange={(next) => change({ item: next?.id })}
          />
        )}
        {fields.length > 0 && (
          <SelectField
            label={t('simulator_field')}
            value={field ?? ''}
            options={[
              { value: '', text: t('simulator_any_field') },
              ...fields.map((value) => ({ value, text: fieldText(value) })),
            ]}
            onChange={(next) => change({ field: next })}
          />
        )}
        {aboutUsers.includes(collection) && (
          <>
            <TextField
              label={t('simulator_item_id')}
              hint={t('simulator_item_hint')}
              value={item ?? ''}
              onInput={(next) => change({ item: next.trim() }, { replace: true })}
            />
            <p class="hint">{t('simulator_about_users')}</p>
          </>
        )}
        <TextField
          label={t('simulator_ip')}
          hint={t('simulator_ip_hint')}
          value={ip ?? ''}
          placeholder="192.0.2.7"
          onInput={(next) => change({ ip: next.trim() }, { replace: true })}
        />
        {(item || field || ip) && (
          <Button onPress={() => change({ item: undefined, field: undefined, ip: undefined })}>
            {t('simulator_reset')}
          </Button>
        )}
      </Card>
      <Card>
        {subject ? (
          <Verdicts
            subject={subject}
            asked={{
              collection,
              ...(item ? { item } : {}),
              ...(field ? { field } : {}),
              ...(isAddress(ip) ? { ip } : {}),
            }}
            actions={actionsOn(collection)}
            isDetailed
          />
        ) : (
          <Empty icon="eye" title={t('simulator_empty_title')}>
            {t('simulator_empty')}
          </Empty>
        )}
      </Card>
    </div>
  );
}

/** Whether a text is likely to be a whole address. The API checks it. */
const isAddress = (text: string | undefined): text is string =>
  text !== undefined && /^(?:\d{1,3}(?:\.\d{1,3}){3}|[\da-f:.]*:[\da-f:.]*:[\da-f:.]*)$/i.test(text);

/** The item that the URL names. */
function usePicked(collection: string, id: string | undefined): Picked | undefined {
  const isKnown = id !== undefined && withPicker.includes(collection);
  const path = collection === 'users' ? '/users/{id}' : collection === 'roles' ? '/roles/{id}' : '/policies/{id}';
  const fields = collection === 'users' ? 'id,first_name,last_name,email' : 'id,name';
  const { data } = useApi(isKnown ? path : undefined, { params: { id: id ?? '' }, query: { fields } });
  if (!isKnown) return undefined;
  const found = (
    data as { data: { name?: string; first_name?: string; last_name?: string; email?: string } } | undefined
  )?.data;
  return { id, name: found?.name ?? (found ? nameOf(found, id) : '…') };
}
