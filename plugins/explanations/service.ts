import type { Executor } from '../../db/client.js';
import { findPolicySources, type PolicyRecord, type PolicySource } from '../../db/queries/access/principals.js';
import type { CostlyQueries } from '../../db/queries/items/costly-queries.js';
import { maxReached } from '../../db/queries/items/reach.js';
import type { Key } from '../../db/queries/items/writes.js';
import type { Filter } from '../../db/query-language/filter.js';
import { writeFilter } from '../../db/query-language/write-filter.js';
import { dryRun } from '../../db/statements.js';
import type { ExplainBody, Explanation, Missing, Obstacle } from '../../schemas/explanations.js';
import { type PermittedCollection, permittedCollections } from '../../schemas/needs.js';
import type { Caller } from '../http/caller.js';
import { bareAddress } from '../http/trusted-proxies.js';
import { invalidPayload } from '../items/payload.js';
import type { Services } from '../platform/plugin.js';
import { rehearse } from './changes.js';
import { explainItems } from './items.js';
import { explainItemsAboutUsers, isAboutUsers } from './items-about-users.js';
import { explainSettings } from './settings.js';
import { findSubject, type Subject } from './subject.js';
import { obstacle, type Verdict } from './verdict.js';

export interface Explanations {
  /**
   * Explains what somebody may do, now or after changes.
   * @param caller an administrator
   * @throws {ApiError} INVALID_PAYLOAD, and all errors with which writes reject the changes
   */
  explain(caller: Caller, question: ExplainBody): Promise<Explanation>;
}

export function createExplanations(
  { config, dbOf, clock, writeRules, mail, mailsOfUsers, sessionsOfUsers }: Services,
  costly: Pick<CostlyQueries, 'isCheap'>,
): Explanations {
  const explainCollection = async (
    tx: Executor,
    subject: Caller,
    { collection, ...question }: Omit<ExplainBody, 'collection'> & { collection: PermittedCollection },
  ): Promise<Verdict> => {
    const now = clock();
    if (collection === 'settings') return explainSettings(subject, question);
    return isAboutUsers(collection)
      ? explainItemsAboutUsers(tx, { mail, mailsOfUsers, sessionsOfUsers, now }, subject, { ...question, collection })
      : explainItems(tx, { costly, writeRules, now }, subject, { ...question, collection });
  };

  return {
    explain: async (caller, question) => {
      const asked = readQuestion(question);
      // The transaction is always rolled back. What it reads is from one state, with the changes if there are any.
      return dryRun(dbOf(caller), async (tx) => {
        const created = question.changes
          ? await rehearse(tx, caller, question.changes, { config, clock }, writeRules)
          : new Map<Key, number>();
        const { requestId, abandoned } = caller.client;
        const client = { ip: asked.ip, userAgent: null, network: '', requestId, abandoned };
        const subject = await findSubject(tx, question, client);
        if ('unknown' in subject) return nothing(subject.unknown);
        const verdict = await explainCollection(tx, subject.caller, { ...question, collection: asked.collection });
        const sources = await findPolicySources(tx, { ...subject.caller, user: subject.caller.userId });
        return describe(subject, question, verdict, sources, created);
      });
    },
  };
}

/** @throws {ApiError} INVALID_PAYLOAD */
function readQuestion(question: ExplainBody) {
  const { user, role, public: anyone, action, item, field, ip } = question;
  if ([user, role, anyone].filter((one) => one !== undefined).length !== 1)
    throw invalidPayload('Exactly one of user, role, and public is required');
  const name = question.collection.replace(/^directus_/, '');
  const collection = permittedCollections.find((known) => known === name);
  if (!collection) throw invalidPayload(`collection must be one of ${permittedCollections.join(', ')}`);
  if (item !== undefined && (action === 'create' || collection === 'settings'))
    throw invalidPayload('item cannot be combined with the action create, or with the settings');
  if (field !== undefined && action === 'delete')
    throw invalidPayload('field cannot be combined with the action delete');
  const address = ip === undefined ? null : bareAddress(ip);
  if (ip !== undefined && address === null) throw invalidPayload('ip must be an IP address');
  return { collection, ip: address };
}

const noCounts = { fields: 0, all_fields: 0, items: null, more_items: false };

const nothing = (code: Obstacle): Explanation => ({
  allowed: false,
  fields: [],
  filter: null,
  validation: null,
  because: [],
  missing: [obstacle(code)],
  requires_tfa: false,
  counts: noCounts,
});

function describe(
  subject: Subject,
  { action, collection }: Pick<ExplainBody, 'action' | 'collection'>,
  verdict: Verdict,
  sources: readonly PolicySource[],
  created: ReadonlyMap<Key, number>,
): Explanation {
  const { caller } = subject;
  const { fields, allFields } = verdict;
  const missing = [...subject.missing, ...verdict.missing];
  // No other address changes that there is no such operation, or that anonymous callers have no rights that could be compared.
  const isHopeless =
    verdict.missing.some(({ code }) => code === 'no_operation') ||
    (caller.userId === null && isAboutUsers(collection.replace(/^directus_/, '')));
  const listed = (names: readonly string[]) => (names.length > 0 && names.length === allFields ? ['*'] : [...names]);
  return {
    allowed: missing.length === 0,
    fields: listed(fields),
    filter: writtenUnion(verdict.rules, subject),
    validation: writtenUnion(verdict.validations, subject),
    because: [...verdict.permissions].flatMap(([permission, granted]) => {
      const grants = policiesOf(caller, permission);
      return sources
        .filter(({ policy }) => grants.some(({ id }) => id === policy))
        .map(({ policy, name, by, role, role_name }) => {
          const change = permission === null ? undefined : created.get(permission);
          return {
            policy,
            policy_name: name,
            permission: change === undefined ? permission : null,
            change: change ?? null,
            fields: listed(granted),
            own: permission === null && !caller.admin,
            by,
            role,
            role_name,
          };
        });
    }),
    missing:
      verdict.missing.length === 0 || isHopeless ? missing : [...missing, ...elsewhere(subject, collection, action)],
    requires_tfa: caller.policies.some((policy) => policy.enforce_tfa),
    counts: {
      fields: fields.length,
      all_fields: allFields,
      items: verdict.items === null ? null : Math.min(verdict.items, maxReached),
      more_items: (verdict.items ?? 0) > maxReached,
    },
  };
}

/** The policies that contain a permission or, without one, those whose access flags decide. */
const policiesOf = ({ admin, policies }: Caller, permission: number | null): readonly PolicyRecord[] =>
  policies.filter((policy) =>
    permission === null
      ? admin
        ? policy.admin_access
        : policy.app_access
      : policy.permissions.some(({ id }) => id === permission),
  );

/** A filter for what at least one of the rules selects; null: everything. */
function writtenUnion(rules: readonly (Filter | null)[], { placeholder }: Subject): Record<string, unknown> | null {
  if (rules.length === 0 || rules.includes(null)) return null;
  const written = rules.map((rule) =>
    writeFilter(rule as Filter, (value) => (value === placeholder ? '$CURRENT_USER' : value)),
  );
  const distinct = [...new Map(written.map((filter) => [JSON.stringify(filter), filter])).values()];
  return distinct.length === 1 ? (distinct[0] ?? null) : { _or: distinct };
}

/** Policies that could allow it from another address. */
function elsewhere({ caller, held }: Subject, collection: string, action: string): Missing[] {
  const name = collection.replace(/^directus_/, '');
  return held
    .filter((policy) => !caller.policies.includes(policy))
    .filter(
      ({ admin_access, app_access, permissions }) =>
        admin_access ||
        (app_access && action === 'read' && (name === 'users' || name === 'roles')) ||
        permissions.some((permission) => permission.collection === name && permission.action === action),
    )
    .map(({ id }) => obstacle('other_addresses', { policy: id }));
}
