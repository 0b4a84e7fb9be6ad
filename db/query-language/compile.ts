import { type SQL, sql } from 'drizzle-orm';
import type { Operator } from '../../schemas/operators.js';
import { inLowerCase } from '../lower-case.js';
import { userPolicies, users } from '../schema.js';
import {
  type Collection,
  type CollectionName,
  collections,
  type Field,
  type ListField,
  type RuledCollection,
  type ValueField,
} from './collections.js';
import {
  type AccessView,
  coverAllItems,
  type Filter,
  isReadable,
  type ReadGrant,
  type Scalar,
  seesAll,
  type UserReach,
} from './filter.js';
import { invalidQuery } from './invalid-query.js';

/** A row of a collection in a statement, and its alias there. */
export interface Row<Of extends RuledCollection = Collection> {
  collection: Of;
  alias: string;
  /** The row in a `from` clause. It joins the table beside the collection's own only if the statement uses one of its columns. */
  source: SQL;
  /** The alias of the table beside the collection's own, once it is part of the source. */
  beside?: string;
  /**
   * Whether columns of that table are read one by one, instead of joining it. PostgreSQL joins tables before it sorts and limits the rows, but
   * reads such a column only for the rows that are left.
   */
  readsBesideLast?: boolean;
}

export type AnyRow = Row<RuledCollection>;

/**
 * Compiles filters and fields to SQL, restricted to what one caller may read. Identifiers come only from the map of collections;
 * values become parameters.
 */
export interface Compiler {
  /** A new row of a collection, with a unique alias. */
  row(collection: Collection): Row;
  /** The row in a `from` clause. */
  source(row: AnyRow): SQL;
  /** The value of a field as the caller sees it: null on rows where they may not read it. */
  field(row: AnyRow, name: string): SQL;
  /** The same for a value that was derived from the field elsewhere. */
  masked(row: AnyRow, name: string, value: SQL): SQL;
  /** Whether the caller may name the field at all. */
  readable(row: AnyRow, name: string): boolean;
  /** Fields, grouped by the condition for those visible rows on which the caller may read them. Null: all of them. */
  byCondition(row: AnyRow, names: readonly string[]): { names: string[]; isShown: SQL | null }[];
  /** Whether a row is the one with this key. */
  hasKey(row: AnyRow, key: SQL): SQL;
  /** Whether the caller may see the row. */
  visible(row: AnyRow): SQL;
  /** Whether the row matches a filter, evaluated on what the caller may read. */
  matches(row: AnyRow, filter: Filter): SQL;
  /** Whether the row matches the rule of a grant, evaluated on all data. */
  matchesRule(row: AnyRow, rule: Filter | null): SQL;
  /** The items of a list as a `from` clause, and the key of the row that lists each of them; `items` is a row of the list's target. */
  linked(list: ListField, items: AnyRow): { from: SQL; owner: SQL };
  /** The column of a field, whether or not the caller may read it. */
  column(row: AnyRow, name: string): SQL;
  /** The columns by which a field is indexed approximately; undefined if it is not, or if the caller may not read it on every row. */
  coarse(row: AnyRow, name: string): { value: SQL; keyIfNull: SQL; round(value: SQL): SQL } | undefined;
}

const all = (conditions: SQL[]): SQL =>
  conditions.length === 0 ? sql`true` : sql`(${sql.join(conditions, sql` and `)})`;
const any = (conditions: SQL[]): SQL =>
  conditions.length === 0 ? sql`false` : sql`(${sql.join(conditions, sql` or `)})`;

/**
 * Maximum number of comparisons and rows in a statement. The conditions of a query are limited when it is parsed, but permission
 * rules multiply them.
 */
const maxParts = 5000;

/** @throws {ApiError} INVALID_QUERY from any of its functions, when the statement would become too large */
export function createCompiler(access: AccessView): Compiler {
  let aliases = 0;
  let parts = 0;
  const addPart = () => {
    if (++parts > maxParts) throw invalidQuery('The query is too complex. Request less at a time.');
  };

  const compilerFor = (view: AccessView): Compiler => {
    // Rules are evaluated on all data, not only on what the caller may read.
    const rules = (): Compiler => (view === seesAll ? compiler : compilerFor(seesAll));

    const fieldOf = (row: AnyRow, name: string): Field => {
      const found = row.collection.fields.get(name);
      if (!found) throw new Error(`${row.collection.name} has no field ${name}.`);
      return found;
    };

    const valueField = (row: AnyRow, name: string): ValueField => {
      const found = fieldOf(row, name);
      if (found.kind !== 'value') throw new Error(`${row.collection.name}.${name} is not a value.`);
      return found;
    };

    /** The condition for the rows to which any of the grants applies; null: all rows. */
    const condition = (row: AnyRow, grants: readonly ReadGrant[]): SQL | null => {
      if (coverAllItems(grants)) return null;
      return any(grants.map(({ rule }) => compiler.matchesRule(row, rule)));
    };

    /** The condition for those visible rows on which a field may be read; null: all of them. */
    const fieldCondition = (row: AnyRow, name: string): SQL | null => {
      const grants = view(row.collection.name);
      const naming = grants.filter(({ fields }) => fields === '*' || fields.has(name));
      return naming.length === grants.length ? null : condition(row, naming);
    };

    const columnOf = (row: AnyRow, isBeside: true | undefined, column: string): SQL => {
      if (isBeside && row.readsBesideLast) return readSeparately(row, column);
      const alias = isBeside ? besideOf(row) : row.alias;
      return sql`${sql.identifier(alias)}.${sql.identifier(column)}`;
    };

    const tableBeside = ({ collection: { name, beside } }: AnyRow) => {
      if (!beside) throw new Error(`There is no table beside ${name}.`);
      return beside;
    };

    const readSeparately = (row: AnyRow, column: string): SQL => {
      const { table, key } = tableBeside(row);
      return sql`(select ${sql.identifier(column)} from ${table} where ${sql.identifier(key)} = ${sql.identifier(row.alias)}.${sql.identifier('id')})`;
    };

    /** Adds the table beside the collection's own to the source, and returns its alias. */
    const besideOf = (row: AnyRow): string => {
      const { table, key } = tableBeside(row);
      if (row.beside === undefined) {
        row.beside = `${row.alias}_beside`;
        const own = sql`${sql.identifier(row.beside)}.${sql.identifier(key)}`;
        row.source.append(
          sql` join ${table} ${sql.identifier(row.beside)} on ${own} = ${sql.identifier(row.alias)}.${sql.identifier('id')}`,
        );
      }
      return row.beside;
    };

    const compiler: Compiler = {
      row: (collection) => {
        addPart();
        const alias = `t${aliases++}`;
        return { collection, alias, source: sql`${collection.table} ${sql.identifier(alias)}` };
      },

      source: ({ source }) => source,

      column: (row, name) => {
        const { column, beside } = valueField(row, name);
        return columnOf(row, beside, column);
      },

      coarse: (row, name) => {
        const { coarse, beside } = valueField(row, name);
        if (!coarse || fieldCondition(row, name)) return undefined;
        const { column, keyIfNull, round } = coarse;
        return { value: columnOf(row, beside, column), keyIfNull: columnOf(row, beside, keyIfNull), round };
      },

      field: (row, name) => {
        const { concealed } = valueField(row, name);
        const column = compiler.column(row, name);
        return compiler.masked(
          row,
          name,
          concealed ? sql`case when ${column} is not null then '**********' end` : column,
        );
      },

      masked: (row, name, value) => {
        const isShown = fieldCondition(row, name);
        return isShown ? sql`case when ${isShown} then ${value} end` : value;
      },

      byCondition: (row, names) => {
        const grants = view(row.collection.name);
        const groups = new Map<string, string[]>();
        for (const name of names) {
          const naming = grants.map(({ fields }) => fields === '*' || fields.has(name)).join();
          groups.set(naming, [...(groups.get(naming) ?? []), name]);
        }
        return [...groups.values()].map((group) => ({ names: group, isShown: fieldCondition(row, group[0] ?? '') }));
      },

      readable: (row, name) => isReadable(view(row.collection.name), name),

      hasKey: (row, key) => sql`${sql.identifier(row.alias)}.${sql.identifier('id')} = ${key}`,

      visible: (row) => condition(row, view(row.collection.name)) ?? sql`true`,

      linked: ({ link }, items) => {
        if ('column' in link) {
          return {
            from: compiler.source(items),
            owner: sql`${sql.identifier(items.alias)}.${sql.identifier(link.column)}`,
          };
        }
        const junction = sql.identifier(`t${aliases++}`);
        return {
          from: sql`${link.table} ${junction} join ${compiler.source(items)} on ${sql.identifier(items.alias)}.${sql.identifier('id')} = ${junction}.${sql.identifier(link.other)}`,
          owner: sql`${junction}.${sql.identifier(link.own)}`,
        };
      },

      matchesRule: (row, rule) => (rule === null ? sql`true` : rules().matches(row, rule)),

      matches: (row, filter) => compileFilter(row, filter, unchanged, unchanged),
    };

    /**
     * @param reach turns a value of this row into a value of the row where the filter began. Until the filter follows a key, this
     *   is the identity; after that, it is a scalar sub-select, which is null when there is no related item.
     * @param reachTest the same for a condition on this row; false when there is no related item. Sub-selects for lists do not
     *   depend on the row, so each runs once for the statement and not once for each row of the surrounding one; that would
     *   multiply with every list that a filter goes through.
     */
    const compileFilter = (
      row: AnyRow,
      filter: Filter,
      reach: (value: SQL) => SQL,
      reachTest: (test: SQL) => SQL,
    ): SQL => {
      switch (filter.kind) {
        case 'never':
          return sql`false`;
        case 'and':
          return all(filter.filters.map((part) => compileFilter(row, part, reach, reachTest)));
        case 'or':
          return any(filter.filters.map((part) => compileFilter(row, part, reach, reachTest)));
        case 'compare': {
          addPart();
          const { operator, values } = filter;
          const value = compiler.field(row, filter.field);
          const reached = reach(value);
          const field = valueField(row, filter.field);
          const coarse = reached === value ? compiler.coarse(row, filter.field) : undefined;
          const indexed = coarse && indexedComparison(coarse, value, field, operator, values);
          return indexed ?? comparison(reached, field, operator, values);
        }
        case 'reachable':
          addPart();
          return reachTest(isReachable(compiler.column(row, filter.field), filter.reach));
        case 'through': {
          const { target } = valueField(row, filter.field);
          if (target === undefined)
            throw new Error(`${row.collection.name}.${filter.field} does not refer to a collection.`);
          const item = compiler.row(collections[target]);
          const here = compiler.field(row, filter.field);
          const { filter: inner } = filter;
          if (reach === unchanged && smallCollections.has(target) && inner.kind === 'compare' && needsItem(inner)) {
            // The keys of these items are found first, and then the rows with these keys, by an index. No comparison but the two above is
            // true for a row without an item.
            const test = compileFilter(item, inner, unchanged, unchanged);
            return sql`(${here} = any(array(select ${compiler.column(item, 'id')} from ${compiler.source(item)} where ${compiler.visible(item)} and ${test})))`;
          }
          return compileFilter(
            item,
            filter.filter,
            (value) =>
              reach(
                sql`(select ${value} from ${compiler.source(item)} where ${compiler.hasKey(item, here)} and ${compiler.visible(item)})`,
              ),
            (test) =>
              reachTest(
                sql`coalesce(${here} in (select ${compiler.column(item, 'id')} from ${compiler.source(item)} where ${compiler.visible(item)} and ${test}), false)`,
              ),
          );
        }
        case 'some':
        case 'none': {
          const list = fieldOf(row, filter.field);
          if (list.kind !== 'list') throw new Error(`${row.collection.name}.${filter.field} is not a list.`);
          const items = compiler.row(collections[list.target]);
          const { from, owner } = compiler.linked(list, items);
          const found = sql`${compiler.column(row, 'id')} in (select ${owner} from ${from} where ${all([sql`${owner} is not null`, compiler.visible(items), compiler.matches(items, filter.filter)])})`;
          const condition = fieldCondition(row, filter.field);
          const test = filter.kind === 'some' ? found : sql`not ${found}`;
          return reachTest(condition ? sql`(${condition} and ${test})` : sql`(${test})`);
        }
      }
    };

    return compiler;
  };

  return compilerFor(access);
}

/** A value or a condition on the row where a filter begins. */
const unchanged = (value: SQL): SQL => value;

/** Whether a filter on a related item is true only if there is an item. */
export function needsItem(filter: Filter): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.filters.some(needsItem);
    case 'or':
      return filter.filters.every(needsItem);
    case 'compare':
      return filter.operator !== 'null' && filter.operator !== 'empty';
    case 'through':
      return needsItem(filter.filter);
    default:
      return true;
  }
}

/** Collections with few items, however many users there are. */
export const smallCollections: ReadonlySet<CollectionName> = new Set([
  'roles',
  'policies',
  'permissions',
  'clients',
  'resources',
]);

/**
 * The conditions for the rows that match rules, evaluated on all data, for a statement that is not from a query.
 * @param source the name of a table or sub-select in the statement, with the columns of the collection
 */
export function ruleConditions(
  collection: RuledCollection,
  source: string,
  rules: readonly (Filter | null)[],
): { any: SQL; each: SQL } {
  const compiler = createCompiler(seesAll);
  const row: AnyRow = { collection, alias: source, source: sql.identifier(source) as unknown as SQL };
  const conditions = rules.map((rule) => (rule === null ? sql`true` : sql`(${compiler.matches(row, rule)}) is true`));
  return { any: any(conditions), each: sql`json_build_array(${sql.join(conditions, sql`, `)})` };
}

/**
 * Whether a user is in reach. A scalar sub-select, which PostgreSQL evaluates for each row that it reads, with the primary keys of both
 * tables. As a join, it could be evaluated for all rows before the first one is returned.
 */
export function isReachable(user: SQL, { self, roles, policies }: UserReach): SQL {
  const named = roles.filter((role) => role !== null);
  const role = sql`(reached.role is null and ${sql.raw(String(roles.includes(null)))} or ${isOneOf(sql`reached.role`, named)})`;
  // With `exists`, PostgreSQL might read the policies of all users into a hash table.
  const hasNoOthers = sql`coalesce((select false from ${userPolicies} held where held."user" = reached.id and not ${isOneOf(sql`held.policy`, policies)} limit 1), true)`;
  const found = sql`coalesce((select coalesce(${role}, false) and ${hasNoOthers} from ${users} reached where reached.id = ${user}), false)`;
  const isOwn = self === null ? sql`false` : sql`${user} = ${self}::uuid`;
  // The first condition follows from the others. It lets the database use an index.
  return sql`(${user} is not null and (${isOwn} or ${found}))`;
}

const isOneOf = (value: SQL, keys: readonly string[]): SQL => {
  const list = arrayOf({ type: 'uuid' }, keys);
  return keys.length > fewValues ? sql`(${value} in (select unnest(${list})))` : sql`(${value} = any(${list}))`;
};

/** Escapes `%`, `_` and the escape character itself, so that they are matched literally. */
export const literal = (text: Scalar) => String(text).replace(/[\\%_]/g, '\\$&');

/** How many values of a list PostgreSQL sees when it plans a statement. */
export const fewValues = 20;

function comparison(value: SQL, field: ValueField, operator: Operator, values: readonly Scalar[]): SQL {
  const [first = sql`null`, second = sql`null`] = values.slice(0, 2).map((item) => typed(field, item));
  const text = values[0] ?? '';
  const like = (pattern: string) => sql`${value} like ${pattern}`;
  const unlike = (pattern: string) => sql`${value} not like ${pattern}`;
  const ilike = (pattern: string) => sql`${value} ilike ${pattern}`;
  const unilike = (pattern: string) => sql`${value} not ilike ${pattern}`;
  // Addresses are indexed in lower case, so add the comparison in lower case for the index.
  const equals = (other: SQL) =>
    field.folded
      ? sql`(${inLowerCase(value)} = ${inLowerCase(other)} and ${value} = ${other})`
      : sql`${value} = ${other}`;
  const around = `%${literal(text)}%`;
  const start = `${literal(text)}%`;
  const end = `%${literal(text)}`;

  const compiled: Record<Operator, () => SQL> = {
    eq: () => equals(first),
    neq: () => sql`${value} <> ${first}`,
    // PostgreSQL sees few values when it plans the statement, and thus knows whether they are rare. Many values are looked up in a hash
    // table; in an array, they would be compared one by one.
    in: () => {
      if (values.length === 0 || values.length > fewValues)
        return sql`${value} in (select unnest(${arrayOf(field, values)}))`;
      const items = values.map((item) => typed(field, item));
      if (items.length === 1 || field.folded) return sql`(${sql.join(items.map(equals), sql` or `)})`;
      return sql`${value} in (${sql.join(items, sql`, `)})`;
    },
    nin: () =>
      values.length > fewValues
        ? sql`${value} not in (select unnest(${arrayOf(field, values)}))`
        : sql`${value} <> all(${arrayOf(field, values)})`,
    null: () => sql`${value} is null`,
    nnull: () => sql`${value} is not null`,
    lt: () => sql`${value} < ${first}`,
    lte: () => sql`${value} <= ${first}`,
    gt: () => sql`${value} > ${first}`,
    gte: () => sql`${value} >= ${first}`,
    between: () => sql`${value} between ${first} and ${second}`,
    nbetween: () => sql`${value} not between ${first} and ${second}`,
    empty: () => sql`coalesce(${value}, '') = ''`,
    nempty: () => sql`${value} <> ''`,
    contains: () => like(around),
    ncontains: () => unlike(around),
    icontains: () => ilike(around),
    starts_with: () => like(start),
    nstarts_with: () => unlike(start),
    istarts_with: () => ilike(start),
    nistarts_with: () => unilike(start),
    ends_with: () => like(end),
    nends_with: () => unlike(end),
    iends_with: () => ilike(end),
    niends_with: () => unilike(end),
  };
  return compiled[operator]();
}

/**
 * A comparison for which the database uses the index of the approximate value. The two values are compared as a pair: with two conditions,
 * which PostgreSQL takes for independent, it would expect far too few rows.
 */
function indexedComparison(
  { value: indexed, round }: { value: SQL; round(value: SQL): SQL },
  value: SQL,
  field: ValueField,
  operator: Operator,
  values: readonly Scalar[],
): SQL | undefined {
  const compare = (sign: SQL, other = sql`null`) => sql`(${indexed}, ${value}) ${sign} (${round(other)}, ${other})`;
  const [first, second] = values.slice(0, 2).map((item) => typed(field, item));
  switch (operator) {
    case 'eq':
      return compare(sql`=`, first);
    case 'lt':
      return compare(sql`<`, first);
    case 'lte':
      return compare(sql`<=`, first);
    case 'gt':
      return compare(sql`>`, first);
    case 'gte':
      return compare(sql`>=`, first);
    case 'between':
      return sql`(${compare(sql`>=`, first)} and ${compare(sql`<=`, second)})`;
    case 'null':
      return sql`${indexed} is null`;
    case 'nnull':
      return sql`${indexed} is not null`;
    default:
      return undefined;
  }
}

/**
 * Values of a field's type as one parameter: a statement accepts at most 65,535 parameters, and a list may be long. The
 * sub-select is evaluated once for the statement; otherwise, the database would parse the text again for every row.
 */
export function arrayOf({ type }: Pick<ValueField, 'type'>, values: readonly Scalar[]): SQL {
  const literal = `{${values.map((item) => `"${String(item).replace(/["\\]/g, '\\$&')}"`).join(',')}}`;
  const array = sql.raw(arrayTypes[type]);
  return sql`(select ${literal}::text::${array})::${array}`;
}

const arrayTypes: Readonly<Record<ValueField['type'], string>> = {
  text: 'text[]',
  uuid: 'uuid[]',
  boolean: 'boolean[]',
  integer: 'integer[]',
  timestamp: 'timestamptz[]',
  json: 'text[]',
};

/** The name of a field's type in PostgreSQL. */
export const typeName = (type: ValueField['type']): SQL =>
  sql.raw(type === 'json' ? 'jsonb' : arrayTypes[type].slice(0, -2));

/** A parameter with an explicit type, so that no engine has to guess it. */
function typed({ type }: ValueField, value: Scalar): SQL {
  switch (type) {
    case 'uuid':
      return sql`${value}::uuid`;
    case 'timestamp':
      return sql`${value}::timestamptz`;
    case 'integer':
      return sql`${value}::integer`;
    case 'boolean':
      return value === true ? sql`true` : sql`false`;
    default:
      return sql`${value}::text`;
  }
}
