import type { ComponentChildren } from 'preact';
import { page } from '../../page-data.js';
import { choiceText, fieldText, t, textIfAny, timeText, tn } from '../../texts.js';
import { Icon } from '../icon.js';
import { Rich } from '../rich.js';
import {
  type Condition,
  fieldAt,
  isFieldCondition,
  needsValue,
  readFilter,
  readOffset,
  targetOf,
} from './conditions.js';
import type { NameOfId } from './names.js';
import { type Filter, isEverything, type Rule, warningOf } from './rule.js';

const all = new Intl.ListFormat(page.language, { type: 'conjunction' });
const any = new Intl.ListFormat(page.language, { type: 'disjunction' });

/** A collection in a sentence, such as "users" or "the settings". */
export const collectionText = (name: string): string => textIfAny(`collection_${name}`) ?? name;

const pathText = (path: string): string => path.split('.').map(fieldText).join(' › ');

const variables = {
  $CURRENT_USER: 'rule_current_user',
  $CURRENT_ROLE: 'rule_current_role',
  $CURRENT_ROLES: 'rule_current_roles',
  $CURRENT_POLICIES: 'rule_current_policies',
} as const;

export function valueText(collection: string, path: string, value: unknown, nameOfId: NameOfId): string {
  if (Array.isArray(value)) return any.format(value.map((one) => valueText(collection, path, one, nameOfId)));
  if (value === null) return t('none');
  if (typeof value === 'boolean') return t(value ? 'yes' : 'no');
  if (typeof value === 'object') return JSON.stringify(value);
  const text = String(value);
  if (text in variables) return t(variables[text as keyof typeof variables]);
  const offset = readOffset(text);
  if (offset) {
    const { amount, unit } = offset;
    if (amount === 0) return t('rule_now');
    return t(amount < 0 ? 'rule_before_now' : 'rule_after_now', { time: tn(`rule_${unit}`, Math.abs(amount)) });
  }
  if (targetOf(collection, path)) return nameOfId(text);
  const type = fieldAt(collection, path)?.type;
  if (type === 'choice') return choiceText(text);
  if (type === 'time' && !Number.isNaN(Date.parse(text))) return timeText(text);
  return `“${text}”`;
}

export function conditionText(collection: string, condition: Condition, nameOfId: NameOfId): string {
  if (!isFieldCondition(condition)) return JSON.stringify(condition.json);
  const { path, operator, value } = condition;
  if (collection === 'users' && path === 'id' && operator === 'eq' && value === '$CURRENT_USER')
    return t('rule_own_account');
  const comparison = t(`operator_${operator}`);
  return needsValue(operator)
    ? `${pathText(path)} ${comparison} ${valueText(collection, path, value, nameOfId)}`
    : `${pathText(path)} ${comparison}`;
}

/** A filter in words. */
export function filterText(collection: string, filter: Filter | null, nameOfId: NameOfId): string {
  const { mode, list } = readFilter(collection, filter);
  return (mode === 'all' ? all : any).format(list.map((one) => conditionText(collection, one, nameOfId)));
}

export const fieldsText = (fields: readonly string[] | null): string => {
  if (!fields || fields.length === 0) return t('rule_no_fields');
  if (fields.includes('*')) return t('rule_all_fields');
  return t('rule_fields', { fields: all.format(fields.map(fieldText)) });
};

interface Props {
  rule: Rule;
  nameOfId: NameOfId;
  /** What is behind the sentence, such as buttons. */
  children?: ComponentChildren;
}

/** What a rule allows, as a sentence. */
export function RuleSentence({ rule, nameOfId, children }: Props) {
  const { collection, action, fields, permissions, validation, presets } = rule;
  const warning = warningOf(rule);
  const inWords = (filter: Filter | null) => <em>{filterText(collection, filter, nameOfId)}</em>;
  return (
    <div class="rule">
      <div class="rule-text">
        <p>
          <strong>{t(`rule_can_${action}`, { collection: collectionText(collection) })}</strong>
          {action !== 'delete' && <> — {fieldsText(fields)}</>}
          {!isEverything(permissions) && (
            <>
              {' '}
              — <Rich text="rule_where" values={{ conditions: inWords(permissions) }} />
            </>
          )}
          {action !== 'delete' && !isEverything(validation) && (
            <>
              {' '}
              — <Rich text="rule_validated" values={{ conditions: inWords(validation) }} />
            </>
          )}
          {action === 'create' && presets && Object.keys(presets).length > 0 && (
            <>
              {' '}
              —{' '}
              {t('rule_preset', {
                values: all.format(
                  Object.entries(presets).map(
                    ([name, value]) => `${fieldText(name)}: ${valueText(collection, name, value, nameOfId)}`,
                  ),
                ),
              })}
            </>
          )}
        </p>
        {warning && (
          <p class="rule-warning">
            <Icon name="warning" />
            {t(warning)}
          </p>
        )}
      </div>
      {children}
    </div>
  );
}

/** What a policy itself allows and requires, as sentences. */
export function OptionSentences({ policy }: { policy: PolicyOptions }) {
  const { admin_access, app_access, enforce_tfa, ip_access } = policy;
  const sentences = [
    admin_access && t('policy_says_admin'),
    app_access && t('policy_says_app'),
    enforce_tfa && t('policy_says_tfa'),
    ip_access && ip_access.length > 0 && t('policy_says_ip', { addresses: all.format(ip_access) }),
  ].filter((text) => typeof text === 'string');
  return (
    <>
      {sentences.map((text) => (
        <div class="rule" key={text}>
          <p class="rule-text">{text}</p>
        </div>
      ))}
    </>
  );
}

export interface PolicyOptions {
  admin_access?: boolean | null;
  app_access?: boolean | null;
  enforce_tfa?: boolean | null;
  ip_access?: string[] | null;
}
