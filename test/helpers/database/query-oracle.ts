/**
 * An independent implementation of the query language that evaluates plain arrays item by item and shares no code with
 * the service. The service must return the same results.
 */

export type Name = 'users' | 'roles' | 'policies' | 'permissions';
export type Value = string | number | boolean | null | object;
export type Item = Record<string, Value> & { id: string | number };
export type Rule = Record<string, unknown>;

/**
 * All stored data, with the field names of the API and dates in ISO format. A concealed field contains any text if it
 * is set.
 */
export interface World {
  users: Item[];
  roles: Item[];
  policies: Item[];
  permissions: Item[];
  userPolicies: { user: string; policy: string }[];
  rolePolicies: { role: string; policy: string }[];
}

export interface OracleQuery {
  fields?: readonly string[] | undefined;
  filter?: Rule | undefined;
  sort?: readonly string[] | undefined;
  search?: string | undefined;
  limit?: number | undefined;
  offset?: number | undefined;
  page?: number | undefined;
  meta?: readonly string[] | undefined;
  aggregate?: Readonly<Record<string, readonly string[] | undefined>> | undefined;
  groupBy?: readonly string[] | undefined;
}

export interface OracleAnswer {
  data: Record<string, unknown>[];
  meta?: Record<string, number>;
}

/** Thrown when the service must reject the query with this code. */
export class Refusal extends Error {
  constructor(readonly code: 'FORBIDDEN' | 'INVALID_QUERY') {
    super(code);
  }
}

type Type = 'text' | 'uuid' | 'boolean' | 'json' | 'timestamp' | 'integer' | 'secret';
type Shape = { type: Type; to?: Name } | { list: Name };

const of = (type: Type, names: string): Record<string, Shape> =>
  Object.fromEntries(names.split(' ').map((name) => [name, { type }]));

export const shapes: Record<Name, Record<string, Shape>> = {
  users: {
    ...of('uuid', 'id avatar'),
    ...of('text', 'first_name last_name email location title description language status last_page provider'),
    ...of('text', 'external_identifier appearance theme_dark theme_light'),
    ...of('json', 'tags auth_data theme_light_overrides theme_dark_overrides'),
    ...of('secret', 'tfa_secret token'),
    ...of('timestamp', 'last_access created_at email_verified_at invite_expires_at'),
    ...of('boolean', 'email_notifications'),
    role: { type: 'uuid', to: 'roles' },
    policies: { list: 'policies' },
  },
  roles: {
    ...of('uuid', 'id'),
    ...of('text', 'name icon description'),
    parent: { type: 'uuid', to: 'roles' },
    children: { list: 'roles' },
    policies: { list: 'policies' },
    users: { list: 'users' },
  },
  policies: {
    ...of('uuid', 'id'),
    ...of('text', 'name icon description'),
    ...of('json', 'ip_access'),
    ...of('boolean', 'enforce_tfa admin_access app_access'),
    permissions: { list: 'permissions' },
    users: { list: 'users' },
    roles: { list: 'roles' },
  },
  permissions: {
    ...of('integer', 'id'),
    ...of('text', 'collection action'),
    ...of('json', 'permissions validation presets fields'),
    policy: { type: 'uuid', to: 'policies' },
  },
};

/** Links that are part of the item itself. Their keys are visible even if the caller cannot read the policies. */
const held = new Set(['users.policies', 'roles.policies']);

export const operators: Record<Type, string[]> = {
  text: 'eq neq in nin null nnull empty nempty contains ncontains icontains starts_with nstarts_with istarts_with nistarts_with ends_with nends_with iends_with niends_with'.split(
    ' ',
  ),
  uuid: 'eq neq in nin null nnull'.split(' '),
  boolean: 'eq neq null nnull'.split(' '),
  json: 'null nnull'.split(' '),
  timestamp: 'eq neq lt lte gt gte between nbetween in nin null nnull'.split(' '),
  integer: 'eq neq lt lte gt gte between nbetween in nin null nnull'.split(' '),
  secret: 'eq neq null nnull empty contains'.split(' '),
};

interface Grant {
  fields: '*' | string[];
  rule: Rule | null;
}

type View = (collection: Name) => Grant[];

const everything: View = () => [{ fields: '*', rule: null }];

export function createOracle(world: World, callerId: string, now: Date) {
  const find = (collection: Name, id: Value | undefined) => world[collection].find((item) => item.id === id);
  const caller = find('users', callerId);
  if (!caller) throw new Error('The caller does not exist.');

  const roles: string[] = [];
  for (let id = caller.role; typeof id === 'string' && !roles.includes(id); id = find('roles', id)?.parent ?? null) {
    roles.push(id);
  }
  const own = new Set([
    ...world.userPolicies.filter(({ user }) => user === callerId).map(({ policy }) => policy),
    ...world.rolePolicies.filter(({ role }) => roles.includes(role)).map(({ policy }) => policy),
  ]);
  const policies = world.policies.filter(({ id }) => own.has(String(id)));

  const view: View = policies.some((policy) => policy.admin_access)
    ? everything
    : (collection) => {
        const granted = world.permissions
          .filter((row) => own.has(String(row.policy)) && row.collection === collection && row.action === 'read')
          .map((row) => {
            const fields = (row.fields as string[] | null) ?? [];
            return {
              fields: fields.includes('*') ? ('*' as const) : fields,
              rule: row.permissions as Rule | null,
            };
          })
          // A permission without fields reveals nothing, not even that the item exists.
          .filter(({ fields }) => fields.length > 0);
        if (policies.some((policy) => policy.app_access)) {
          if (collection === 'users') granted.push({ fields: '*', rule: { id: { _eq: callerId } } });
          if (collection === 'roles') granted.push({ fields: '*', rule: { id: { _in: roles } } });
        }
        return granted;
      };

  const variable = (value: unknown): unknown[] => {
    if (typeof value !== 'string') return [value];
    if (value === '$CURRENT_USER') return [callerId];
    if (value === '$CURRENT_ROLE') return [caller.role];
    if (value === '$CURRENT_ROLES') return roles;
    if (value === '$CURRENT_POLICIES') return policies.map(({ id }) => id);
    if (value === '$NOW') return [now.toISOString()];
    const days = /^\$NOW\((-?\d+) days?\)$/.exec(value)?.[1];
    return days === undefined ? [value] : [new Date(now.getTime() + Number(days) * 86_400_000).toISOString()];
  };

  /** Whether a filter contains a variable without a value. */
  const hasUnresolvedVariable = (part: unknown): boolean => {
    const isNothing = (values: unknown[]) => values.length === 0 || values.includes(null);
    if (typeof part === 'string') return part.startsWith('$') && isNothing(variable(part));
    if (Array.isArray(part) && part.length > 0 && part.every((one) => typeof one === 'string'))
      return isNothing(part.flatMap(variable));
    return typeof part === 'object' && part !== null && Object.values(part).some(hasUnresolvedVariable);
  };

  const names = (grant: Grant, field: string) => grant.fields === '*' || grant.fields.includes(field);
  const holds = (grant: Grant, collection: Name, item: Item) =>
    grant.rule === null || matches(everything, collection, item, grant.rule);
  const visible = (by: View, collection: Name, item: Item) => by(collection).some((g) => holds(g, collection, item));
  const mayName = (by: View, collection: Name, field: string) => by(collection).some((g) => names(g, field));
  const maySee = (by: View, collection: Name, item: Item, field: string) =>
    by(collection).some((grant) => names(grant, field) && holds(grant, collection, item));

  /** The visible value of a field, or null if the caller may not read it or there is no item. */
  function see(by: View, collection: Name, item: Item | null, field: string): Value {
    if (!item || !maySee(by, collection, item, field)) return null;
    const shape = shapes[collection][field];
    const value = item[field] ?? null;
    return shape && 'type' in shape && shape.type === 'secret' && value !== null ? '**********' : value;
  }

  /** The related item, if the caller may read it. */
  function follow(by: View, collection: Name, item: Item | null, field: string, to: Name): Item | null {
    const key = see(by, collection, item, field);
    const found = key === null ? undefined : find(to, key);
    return found && visible(by, to, found) ? found : null;
  }

  /** All items that a list links to, in the order of their ids. */
  function linked(collection: Name, item: Item, field: string): Item[] {
    const ids = (rows: Record<string, string>[], mine: string, other: string) =>
      rows.filter((row) => row[mine] === item.id).map((row) => row[other]);
    const pick = (to: Name, keys: (string | undefined)[]) => world[to].filter(({ id }) => keys.includes(String(id)));
    const ways: Record<string, () => Item[]> = {
      'users.policies': () => pick('policies', ids(world.userPolicies, 'user', 'policy')),
      'roles.policies': () => pick('policies', ids(world.rolePolicies, 'role', 'policy')),
      'roles.children': () => world.roles.filter(({ parent }) => parent === item.id),
      'roles.users': () => world.users.filter(({ role }) => role === item.id),
      'policies.permissions': () => world.permissions.filter(({ policy }) => policy === item.id),
      'policies.users': () => pick('users', ids(world.userPolicies, 'policy', 'user')),
      'policies.roles': () => pick('roles', ids(world.rolePolicies, 'policy', 'role')),
    };
    const found = ways[`${collection}.${field}`]?.();
    if (!found) throw new Error(`${collection}.${field} is not a list.`);
    return found.sort((a, b) => compare(a.id, b.id));
  }

  function matches(by: View, collection: Name, item: Item | null, filter: Rule): boolean {
    return Object.entries(filter).every(([key, value]) => {
      if (key === '_and') return (value as Rule[]).every((part) => matches(by, collection, item, part));
      if (key === '_or') return (value as Rule[]).some((part) => matches(by, collection, item, part));
      const shape = shapes[collection][key];
      if (!shape) throw new Error(`${collection} has no ${key}.`);
      if (typeof value !== 'object' || value === null) return holdsFor(by, collection, item, key, 'eq', value);
      const nested = Object.entries(value).filter(
        ([name]) => !name.startsWith('_') || name === '_and' || name === '_or',
      );
      const rest = Object.entries(value).filter((entry) => !nested.some(([name]) => name === entry[0]));
      if ('list' in shape) {
        const some = (part: Rule) =>
          item !== null &&
          linked(collection, item, key).some(
            (other) => visible(by, shape.list, other) && matches(by, shape.list, other, part),
          );
        const seen = item !== null && maySee(by, collection, item, key);
        // A variable without a value makes a condition false. `_none` does not negate that.
        const isDenied = rest.some(([name, part]) => name === '_none' && hasUnresolvedVariable(part));
        const parts = !isDenied && rest.every(([name, part]) => seen && (name === '_some') === some(part as Rule));
        return parts && (nested.length === 0 || (seen && some(Object.fromEntries(nested))));
      }
      const direct = rest.every(([name, part]) => holdsFor(by, collection, item, key, name.slice(1), part));
      if (nested.length === 0 || !shape.to) return direct;
      const other = follow(by, collection, item, key, shape.to);
      return direct && matches(by, shape.to, other, Object.fromEntries(nested));
    });
  }

  function holdsFor(by: View, collection: Name, item: Item | null, field: string, operator: string, operand: unknown) {
    return holdsOf(see(by, collection, item, field), operator, operand, variable, shapes[collection][field]);
  }

  /** Rejects a query with a field that does not exist or that the caller may not read. */
  function check(collection: Name, query: OracleQuery): void {
    if (view(collection).length === 0) throw new Refusal('FORBIDDEN');
    const need = (place: Name, field: string) => {
      if (!shapes[place][field] || !mayName(view, place, field)) throw new Refusal('FORBIDDEN');
    };
    const filtered = (place: Name, filter: Rule): void => {
      for (const [key, value] of Object.entries(filter)) {
        if (key === '_and' || key === '_or') {
          for (const part of value as Rule[]) filtered(place, part);
          continue;
        }
        need(place, key);
        const shape = shapes[place][key];
        if (typeof value !== 'object' || value === null || !shape) continue;
        for (const [name, part] of Object.entries(value)) {
          const to = 'list' in shape ? shape.list : shape.to;
          if (name === '_some' || name === '_none') filtered(to as Name, part);
          else if (!name.startsWith('_')) filtered(to as Name, { [name]: part });
          else if ((name === '_and' || name === '_or') && to) for (const one of part as Rule[]) filtered(to, one);
        }
      }
    };
    filtered(collection, query.filter ?? {});
    for (const key of query.sort ?? []) {
      let place: Name | undefined = collection;
      for (const name of key.replace(/^-/, '').split('.')) {
        if (!place) throw new Refusal('FORBIDDEN');
        need(place, name);
        const shape: Shape | undefined = shapes[place][name];
        place = shape && 'type' in shape ? shape.to : undefined;
      }
    }
    for (const path of query.fields ?? []) {
      const walk = (place: Name, [head = '', ...rest]: string[], lists: Name[]): void => {
        if (head === '*') return;
        need(place, head);
        const shape = shapes[place][head];
        const within = listsOf(lists, shape);
        if (!isBounded(within)) throw new Refusal('INVALID_QUERY');
        const to = shape && ('list' in shape ? shape.list : shape.to);
        if (rest.length === 0) return;
        if (!to) throw new Refusal('FORBIDDEN');
        walk(to, rest, within);
      };
      walk(collection, path.split('.'), []);
    }
    for (const field of [
      ...(query.groupBy ?? []),
      ...Object.values(query.aggregate ?? {}).flatMap((list) => list ?? []),
    ]) {
      if (field !== '*') need(collection, field);
    }
  }

  /** Converts an item to the form in which it is returned. */
  function shown(collection: Name, item: Item, paths: string[][], lists: Name[] = []): Record<string, unknown> {
    const subpaths = new Map<string, string[][]>();
    const add = (head: string, rest: string[]) => {
      const list = subpaths.get(head) ?? [];
      if (rest.length > 0) list.push(rest);
      subpaths.set(head, list);
    };
    for (const [head = '', ...rest] of paths) {
      if (head !== '*') add(head, rest);
      else {
        for (const [name, shape] of Object.entries(shapes[collection])) {
          if (name === 'invite_expires_at') continue;
          const to = 'list' in shape ? shape.list : shape.to;
          if (mayName(view, collection, name) && isBounded(listsOf(lists, shape)))
            add(name, to && view(to).length > 0 ? rest : []);
        }
      }
    }
    const output: Record<string, unknown> = {};
    for (const [name, rest] of subpaths) {
      const shape = shapes[collection][name];
      if (!shape) throw new Error(`${collection} has no ${name}.`);
      if ('list' in shape) {
        const items = linked(collection, item, name);
        const isHeld = rest.length === 0 && held.has(`${collection}.${name}`);
        const isShown = (other: Item) => rest.length > 0 || maySee(view, shape.list, other, 'id');
        const seen = items.filter((other) => isHeld || (visible(view, shape.list, other) && isShown(other)));
        output[name] = !maySee(view, collection, item, name)
          ? null
          : seen.map((other) =>
              rest.length === 0 ? other.id : shown(shape.list, other, rest, [...lists, shape.list]),
            );
      } else if (shape.to && rest.length > 0) {
        const other = follow(view, collection, item, name, shape.to);
        output[name] = other && shown(shape.to, other, rest, lists);
      } else output[name] = see(view, collection, item, name);
    }
    return withoutHiddenId(output);
  }

  function answer(collection: Name, query: OracleQuery): OracleAnswer {
    check(collection, query);
    const all = world[collection].filter((item) => visible(view, collection, item));
    const filtered = all.filter(
      (item) =>
        matches(view, collection, item, query.filter ?? {}) &&
        (query.search === undefined || found(collection, item, query.search.trim())),
    );
    const meta: Record<string, number> = {};
    for (const name of query.meta ?? []) {
      if (name === 'total_count' || name === '*') meta.total_count = all.length;
      if (name === 'filter_count' || name === '*') meta.filter_count = filtered.length;
    }
    const withMeta = query.meta ? { meta } : {};
    if (query.aggregate) return { data: aggregated(collection, filtered, query), ...withMeta };

    const sorted = [...filtered].sort((a, b) => {
      for (const key of query.sort ?? []) {
        const path = key.replace(/^-/, '').split('.');
        const order = compareNullable(reach(collection, a, path), reach(collection, b, path));
        if (order !== 0) return key.startsWith('-') ? -order : order;
      }
      return compare(a.id, b.id);
    });
    const limit = query.limit === undefined ? 100 : query.limit === -1 ? sorted.length : query.limit;
    const offset = query.page === undefined ? (query.offset ?? 0) : Math.max(query.page - 1, 0) * limit;
    const paths = (query.fields?.length ? query.fields : ['*']).map((path) => path.split('.'));
    return {
      data: sorted.slice(offset, offset + limit).map((item) => shown(collection, item, paths)),
      ...withMeta,
    };
  }

  function reach(collection: Name, item: Item | null, [name = '', ...rest]: string[]): Value {
    const shape = shapes[collection][name];
    if (rest.length === 0 || !shape || 'list' in shape || !shape.to) return see(view, collection, item, name);
    return reach(shape.to, follow(view, collection, item, name, shape.to), rest);
  }

  function found(collection: Name, item: Item, term: string): boolean {
    if (term === '') return true;
    const isUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(term);
    return Object.entries(shapes[collection]).some(([name, shape]) => {
      if (!('type' in shape)) return false;
      const value = see(view, collection, item, name);
      if (typeof value !== 'string') return false;
      if (shape.type === 'text') return value.toLowerCase().includes(term.toLowerCase());
      return shape.type === 'uuid' && isUuid && value === term.toLowerCase();
    });
  }

  function aggregated(collection: Name, items: Item[], query: OracleQuery): Record<string, unknown>[] {
    const groupBy = query.groupBy ?? [];
    const groups = new Map<string, { keys: Value[]; items: Item[] }>();
    if (groupBy.length === 0) groups.set('', { keys: [], items: [] });
    for (const item of items) {
      const keys = groupBy.map((name) => see(view, collection, item, name));
      const key = groupBy.length === 0 ? '' : JSON.stringify(keys);
      const group = groups.get(key) ?? { keys, items: [] };
      group.items.push(item);
      groups.set(key, group);
    }
    return [...groups.values()].map((group) => {
      const row: Record<string, unknown> = Object.fromEntries(groupBy.map((name, index) => [name, group.keys[index]]));
      for (const [name, fields] of Object.entries(query.aggregate ?? {})) {
        for (const field of fields ?? []) {
          if (field === '*') {
            row[name] = group.items.length;
            continue;
          }
          const values = group.items
            .map((item) => see(view, collection, item, field))
            .filter((value) => value !== null)
            .sort(compare);
          const result = {
            count: values.length,
            countDistinct: new Set(values).size,
            min: values[0] ?? null,
            max: values.at(-1) ?? null,
          }[name];
          row[name] = { ...(row[name] as object | undefined), [field]: result };
        }
      }
      return withoutHiddenId(row);
    });
  }

  return { answer, mayName: (collection: Name, field: string) => mayName(view, collection, field), view };
}

/** An `id` that the caller may not read is left out, unlike any other field, which is null. */
function withoutHiddenId({ id, ...others }: Record<string, unknown>): Record<string, unknown> {
  return id === undefined || id === null ? others : { id, ...others };
}

/** The lists that a path passes through. At most two are allowed, and at most one of users. */
const listsOf = (lists: Name[], shape: Shape | undefined) =>
  shape && 'list' in shape ? [...lists, shape.list] : lists;
const isBounded = (lists: Name[]) => lists.length <= 2 && lists.filter((name) => name === 'users').length <= 1;

/** Compares like PostgreSQL with the collation C, which orders texts by their bytes. */
function compare(a: Value, b: Value): number {
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return Number(a) - Number(b);
}

/** Null sorts after any value: last when ascending, first when descending. */
function compareNullable(a: Value, b: Value): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return compare(a, b);
}

function holdsOf(
  value: Value,
  operator: string,
  operand: unknown,
  variable: (value: unknown) => unknown[],
  shape: Shape | undefined,
): boolean {
  const type = shape && 'type' in shape ? shape.type : 'text';
  const asked = operand === undefined || operand === null || operand === '' || String(operand) === 'true';
  switch (operator) {
    case 'null':
      return (value === null) === asked;
    case 'nnull':
      return (value !== null) === asked;
    case 'empty':
      return asked ? value === null || value === '' : value !== null && value !== '';
    case 'nempty':
      return asked ? value !== null && value !== '' : value === null || value === '';
  }
  const list = (Array.isArray(operand) ? operand : [operand]).flatMap(variable);
  const isNullness = (operator === 'eq' || operator === 'neq') && (operand === null || operand === 'null');
  if (isNullness) return (value === null) === (operator === 'eq');
  const operands = list.map((one) => coerced(type, one));
  const [first, second] = operands;
  if (value === null || first === undefined || first === null) return false;
  const order = (other: Value | undefined) => compare(value, other ?? null);
  const text = String(value);
  const part = String(first);
  const [lowerText, lowerPart] = [text.toLowerCase(), part.toLowerCase()];
  const results: Record<string, () => boolean> = {
    eq: () => order(first) === 0,
    neq: () => order(first) !== 0,
    in: () => operands.some((one) => order(one) === 0),
    nin: () => operands.every((one) => order(one) !== 0),
    lt: () => order(first) < 0,
    lte: () => order(first) <= 0,
    gt: () => order(first) > 0,
    gte: () => order(first) >= 0,
    between: () => order(first) >= 0 && order(second) <= 0,
    nbetween: () => order(first) < 0 || order(second) > 0,
    contains: () => text.includes(part),
    ncontains: () => !text.includes(part),
    icontains: () => lowerText.includes(lowerPart),
    starts_with: () => text.startsWith(part),
    nstarts_with: () => !text.startsWith(part),
    istarts_with: () => lowerText.startsWith(lowerPart),
    nistarts_with: () => !lowerText.startsWith(lowerPart),
    ends_with: () => text.endsWith(part),
    nends_with: () => !text.endsWith(part),
    iends_with: () => lowerText.endsWith(lowerPart),
    niends_with: () => !lowerText.endsWith(lowerPart),
  };
  const result = results[operator];
  if (!result) throw new Error(`There is no operator ${operator}.`);
  return result();
}

function coerced(type: Type, operand: unknown): Value {
  if (operand === null || operand === undefined) return null;
  if (type === 'uuid') return String(operand).toLowerCase();
  if (type === 'boolean') return String(operand) === 'true';
  if (type === 'integer') return Number(operand);
  if (type === 'timestamp') {
    const text = String(operand);
    const isBare = /T\d\d:\d\d(:[\d.]+)?$/.test(text);
    return new Date(isBare ? `${text}Z` : text).toISOString();
  }
  return String(operand);
}
