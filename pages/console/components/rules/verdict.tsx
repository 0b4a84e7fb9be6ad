import { Link } from 'wouter-preact';
import type { Schemas } from '../../api/types.js';
import { fieldText, numberText, t, textIfAny, tn } from '../../texts.js';
import { Failure } from '../failure.js';
import { Icon } from '../icon.js';
import { Rich } from '../rich.js';
import {
  asQuestion,
  type Changes,
  type Explanation,
  type Question,
  type Subject,
  useExplanation,
} from './explanation.js';
import type { Action } from './rule.js';
import { collectionText } from './sentence.js';

type Asked = Pick<Question, 'collection' | 'action' | 'item' | 'field' | 'ip'>;

/** "12 users", "more than 1,000 users". */
function itemsText(collection: string, { items, more_items }: Explanation['counts']): string | undefined {
  if (items === null) return undefined;
  const text = collection === 'users' ? tn('verdict_users', items) : tn('verdict_items', items);
  return more_items ? t('verdict_more', { items: text }) : text;
}

/** Whether the permissions that allow something are about different fields. */
const differs = ({ because }: Explanation): boolean => new Set(because.map(({ fields }) => fields.join())).size > 1;

/** What an explanation says, in one sentence: "Sees 3 of 27 fields of 12 users". */
export function summaryOf({ collection, action, item, field }: Asked, explanation: Explanation): string {
  const { allowed, counts } = explanation;
  const names = { collection: collectionText(collection) };
  if (field !== undefined || item !== undefined) {
    const what = field === undefined ? t('verdict_the_item') : fieldText(field);
    const verdict = t(allowed ? `verdict_may_${action}` : `verdict_refused_${action}`, { what });
    const isOwn = allowed && item === undefined && explanation.because.every(({ own }) => own);
    return isOwn ? `${verdict} ${t('verdict_own')}` : verdict;
  }
  if (!allowed) return t(`verdict_no_${action}`, names);
  const items = itemsText(collection, counts) ?? names.collection;
  if (action === 'delete') return t('verdict_delete', { items });
  if (collection === 'mails' && action === 'update') return t('verdict_retry');
  const numbers = { fields: numberText(counts.fields), all: numberText(counts.all_fields) };
  // The fields differ from item to item, so each reason says its own.
  if (differs(explanation)) return t(`verdict_some_${action}`, { items });
  if (counts.fields === counts.all_fields) return t(`verdict_all_${action}`, { items });
  return t(`verdict_${action}`, { ...numbers, items });
}

const reasonTexts = {
  role: 'verdict_by_role',
  parent: 'verdict_by_parent',
  user: 'verdict_by_user',
  public: 'verdict_by_public',
} as const;

/** The names of roles and policies that exist only in the changes, by ID. There are no screens of them yet. */
type Unsaved = Readonly<Record<string, string>>;

interface ReasonProps {
  reason: Schemas['PermissionReason'];
  showsFields: boolean;
  unsaved: Unsaved;
}

/** Which permission allows it, in which way it applies, and for which fields. */
function Reason({ reason, showsFields, unsaved }: ReasonProps) {
  const { policy, policy_name, permission, change, by, role, role_name, fields, own } = reason;
  const href = permission === null ? `/policies/${policy}` : `/policies/${policy}?rule=${permission}`;
  const named = (id: string, name: string | null, to: string) =>
    unsaved[id] === undefined ? <Link href={to}>{name}</Link> : <strong>{unsaved[id]}</strong>;
  return (
    <li>
      {showsFields && `${fields.includes('*') ? t('rule_fields_all') : tn('verdict_allows', fields.length)}: `}
      <Rich
        text={reasonTexts[by]}
        values={{
          policy: named(policy, policy_name, href),
          role: role ? named(role, role_name, `/roles/${role}`) : role_name,
        }}
      />
      {own && <> {t('verdict_own')}</>}
      {change !== null && <> {t('verdict_by_change')}</>}
    </li>
  );
}

interface BecauseProps {
  explanation: Explanation;
  /** Whether it is about several items and fields. */
  isAboutMany?: boolean;
  unsaved?: Unsaved | undefined;
}

/** Why it is allowed, or what prevents it. */
export function Because({ explanation, isAboutMany = false, unsaved = {} }: BecauseProps) {
  const { because, missing, requires_tfa, allowed } = explanation;
  return (
    <ul class="reasons">
      {missing.map(({ code, message, field }) => (
        <li key={`${code}${field}`}>
          {textIfAny(`missing_${code}`) ?? message}
          {field !== undefined && ` (${fieldText(field)})`}
        </li>
      ))}
      {because.map((reason) => (
        <Reason
          key={`${reason.policy}${reason.permission}${reason.change}${reason.by}${reason.role}`}
          reason={reason}
          showsFields={isAboutMany && differs(explanation)}
          unsaved={unsaved}
        />
      ))}
      {requires_tfa && allowed && <li>{t('verdict_tfa')}</li>}
    </ul>
  );
}

interface Props {
  subject: Subject;
  asked: Asked;
  /** Changes that are not saved. The verdict is about the state after them. */
  changes?: Changes | undefined;
  unsaved?: Unsaved | undefined;
  /** Whether it also says what was the case before the changes. */
  compares?: boolean;
  /** Also lists the fields. */
  isDetailed?: boolean;
}

/** What someone can do and why, now or after changes. */
export function Verdict({ subject, asked, changes, unsaved, compares = true, isDetailed = false }: Props) {
  const question: Question = { ...asQuestion(subject), ...asked };
  const now = useExplanation(changes && !compares ? undefined : question);
  const after = useExplanation(changes && { ...question, changes });
  const shown = changes ? after : now;
  const { explanation } = shown;
  if (shown.failure) return <Failure failure={shown.failure} />;
  if (!explanation) return <div class="verdict is-loading" aria-busy="true" />;
  const before = changes && compares && now.explanation && summaryOf(asked, now.explanation);
  const summary = summaryOf(asked, explanation);
  const { fields, allowed } = explanation;
  return (
    <div class={`verdict ${allowed ? 'is-allowed' : 'is-denied'}`} aria-busy={shown.isLoading}>
      <Icon name={allowed ? 'check' : 'close'} />
      <div>
        <p>
          {changes && compares && <span class="hint">{t('verdict_after')} </span>}
          <strong>{summary}</strong>
        </p>
        {before && (
          <p class="hint">{before === summary ? t('verdict_unchanged') : t('verdict_before', { summary: before })}</p>
        )}
        <Because
          explanation={explanation}
          isAboutMany={asked.item === undefined && asked.field === undefined}
          unsaved={unsaved}
        />
        {isDetailed && allowed && fields.length > 0 && !fields.includes('*') && (
          <details>
            <summary>{tn('verdict_fields', fields.length)}</summary>
            <ul class="chips">
              {fields.map((field) => (
                <li class="chip is-plain" key={field}>
                  {fieldText(field)}
                </li>
              ))}
            </ul>
          </details>
        )}
      </div>
    </div>
  );
}

interface AllProps extends Omit<Props, 'asked'> {
  asked: Omit<Asked, 'action'>;
  actions: readonly Action[];
}

/** A verdict for each action that the question can be about. */
export function Verdicts({ asked: { collection, item, field, ip }, actions, ...rest }: AllProps) {
  return (
    <section class="verdicts" aria-label={t('verdict_label')}>
      {actions
        .filter((action) => (action === 'create' ? item === undefined : action !== 'delete' || field === undefined))
        .map((action) => (
          <Verdict
            key={action}
            {...rest}
            asked={{
              collection,
              action,
              ...(item === undefined ? {} : { item }),
              ...(field === undefined ? {} : { field }),
              ...(ip === undefined ? {} : { ip }),
            }}
          />
        ))}
    </section>
  );
}
