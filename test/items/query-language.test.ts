import type { LightMyRequestResponse } from 'fastify';
import t, { type Test } from 'tap';
import { refused } from '../helpers/http/refusals.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { createPolicy, createRole } from '../helpers/users/rights.js';
import { changeUser, createUser } from '../helpers/users/users.js';

const { app, request } = await startTestApp(t, { QUERY_LIMIT_DEFAULT: '5' });
const capped = await startTestApp(t, { QUERY_LIMIT_DEFAULT: '50', QUERY_LIMIT_MAX: '3' });

const token = 'token-of-an-administrator';
const headers = bearer(token);
const adminPolicy = await createPolicy(app, { adminAccess: true, name: 'All' });
const other = await createPolicy(app, { name: 'Other' });
const role = await createRole(app, { policies: [other] });
const caller = await createUser(app, { token, policies: [adminPolicy], role, email: 'caller@example.com' });
const names = ['Ann', 'ann', 'b%c', 'b_c', '', null, 'Zed'];
const moments = [1, 2, 3, 4, 5, 6, 7].map((day) => new Date(Date.UTC(2024, 0, day)));
const ids: string[] = [];
for (const [index, firstName] of names.entries()) {
  const values = {
    firstName,
    lastName: 'Tester',
    lastAccess: moments[index] as Date,
    title: index < 3 ? 'one' : 'two',
  };
  ids.push((await createUser(app, { ...values, emailNotifications: index !== 0 })).id);
}
await createUser(capped.app, { token, policies: [await createPolicy(capped.app, { adminAccess: true })] });
for (let index = 0; index < 5; index++) await createUser(capped.app);

const get = (query: string) => request({ method: 'GET', url: `/users?${query}`, headers });
const search = (query: object) => request({ method: 'SEARCH', url: '/users', headers, payload: { query } });

/** The first names of the test users that a query finds, in the order of their last access. */
async function found(query: string): Promise<unknown[]> {
  const response = await get(`fields=first_name,last_name&sort=last_access&limit=-1&${query}`);
  if (response.statusCode !== 200) throw new Error(`${query}: ${response.body}`);
  const { data } = response.json() as { data: { first_name: unknown; last_name: unknown }[] };
  return data.filter((item) => item.last_name === 'Tester').map((item) => item.first_name);
}
async function finds(t: Test, expected: Record<string, unknown[]>) {
  for (const [query, wanted] of Object.entries(expected)) t.strictSame(await found(query), wanted, query);
}
async function invalid(t: Test, ...queries: string[]) {
  for (const query of queries) refused(t, await get(query), 'INVALID_QUERY', query);
}

/** For a nonexistent or unreadable field, the contract requires a reason in addition to the code. */
function forbidden(t: Test, response: LightMyRequestResponse, what: string) {
  const { extensions } = response.json().errors?.[0] ?? {};
  t.match({ status: response.statusCode, ...extensions }, { status: 403, code: 'FORBIDDEN', reason: String }, what);
}

t.test('limit, offset and page select a part of the list', async (t) => {
  const count = async (query: string) => (await get(query)).json().data.length;
  const all = await count('limit=-1');
  t.equal(await count(''), 5, 'QUERY_LIMIT_DEFAULT');
  for (const [query, length] of Object.entries({ 'limit=': 5, 'limit=0': 0, 'limit=2': 2, 'limit=1000': all })) {
    t.equal(await count(query), length, query);
  }
  const list = (await get('limit=-1&fields=id')).json().data.map(({ id }: { id: string }) => id);
  t.strictSame(list, [...list].sort(), 'sorted by id by default');
  const at = async (query: string) =>
    (await get(`fields=id&limit=2&${query}`)).json().data.map((item: { id: string }) => item.id);
  for (const [query, start] of Object.entries({
    'offset=3': 3,
    'page=0': 0,
    'page=1': 0,
    'page=3': 4,
    'page=2&offset=5': 2,
  })) {
    t.strictSame(await at(query), list.slice(start, start + 2), query);
  }
  t.strictSame(await at('offset=1000'), []);
  t.strictSame(await at('page=1000'), []);
});

t.test('limit, offset and page must be integers, in a URL and in a body', async (t) => {
  const huge = '9'.repeat(20);
  const noIntegers = ['abc', '1.5', '1.0', '1e3', '0x10', '--1', 'true', 'null', 'NaN', 'Infinity', huge, `-${huge}`];
  for (const [name, minimum] of Object.entries({ limit: -1, offset: 0, page: 0 })) {
    const reason = `${name} must be an integer of at least ${minimum}`;
    const urls = [...noIntegers, minimum - 1].map((value) => `${name}=${value}`);
    for (const query of [...urls, `${name}[]=1`, `${name}[a]=1`, `${name}=1&${name}=1`]) {
      const response = await get(query);
      refused(t, response, 'INVALID_QUERY', query);
      t.equal(response.json().errors[0].extensions.reason, reason, query);
    }
    for (const value of [...noIntegers, minimum - 1, 1.5, 1e20, true, [1], { a: 1 }, {}, []]) {
      const response = await search({ [name]: value });
      refused(t, response, 'INVALID_QUERY', `${name}: ${JSON.stringify(value)}`);
      t.equal(response.json().errors[0].extensions.reason, reason);
      const query = { filter: { last_name: 'nobody' }, [name]: value };
      for (const [method, payload] of [
        ['PATCH', { query, data: { title: 'changed' } }],
        ['DELETE', { query }],
      ] as const) {
        const write = await request({ method, url: '/users', headers, payload });
        refused(t, write, 'INVALID_QUERY', `${method} ${name}: ${JSON.stringify(value)}`);
        t.equal(write.json().errors[0].extensions.reason, reason);
      }
    }
    for (const value of ['', null]) {
      t.equal((await search({ [name]: value })).json().data.length, 5, `${name}: ${value} is the default`);
    }
    t.equal((await get(`${name}=`)).json().data.length, 5, `${name}= is the default`);
  }
});

t.test('an invalid query is rejected even if the caller may read nothing', async (t) => {
  await createUser(capped.app, { token: 'token-of-a-reader-of-nothing' });
  for (const path of ['/users/me', '/roles/me']) {
    const ask = (query: string) =>
      capped.request({ url: `${path}?${query}`, headers: bearer('token-of-a-reader-of-nothing') });
    t.equal((await ask('fields=name&meta=*')).statusCode, 200);
    for (const query of ['fields[a]=id', 'meta=count', 'meta[]=total_count&meta[]=count']) {
      refused(t, await ask(query), 'INVALID_QUERY', `${path}: ${query}`);
    }
  }
});

t.test('a body that selects items must have one of the documented forms', async (t) => {
  const keys = 'keys must be a list of keys';
  const query = 'query must be an object';
  const id = 'Each item of a list must have an id';
  const update = 'An update must be {keys, data}, {query, data}, or a list of items';
  const deletion = 'A deletion must be a list of keys, {keys}, or {query}';
  const search = 'The body must be an object, and its query, if any, must be an object.';
  const cases: ['PATCH' | 'DELETE' | 'SEARCH', payload: object, reason: string][] = [
    ['PATCH', {}, update],
    ['PATCH', { keys: ids }, update],
    ['PATCH', { data: {} }, update],
    ['PATCH', { keys: ids, data: [] }, update],
    ['PATCH', { keys: ids, query: {}, data: {} }, update],
    ['PATCH', { keys: ids[0], data: {} }, keys],
    ['PATCH', { query: null, data: {} }, query],
    ['PATCH', { query: [], data: {} }, query],
    ['PATCH', [{ title: 'x' }], id],
    ['PATCH', [null], id],
    ['DELETE', {}, deletion],
    ['DELETE', { keys: ids, query: {} }, deletion],
    ['DELETE', { keys: ids[0] }, keys],
    ['DELETE', { query: 'all' }, query],
    ['SEARCH', [], search],
    ['SEARCH', { query: [] }, search],
  ];
  for (const [method, payload, reason] of cases) {
    const response = await request({ method: method as 'PATCH', url: '/users', headers, payload });
    refused(t, response, 'INVALID_PAYLOAD', `${method} ${JSON.stringify(payload)}`);
    t.equal(response.json().errors[0].extensions.reason, reason, `${method} ${JSON.stringify(payload)}`);
  }
});

t.test('a body accepts values in the form that they have in a URL', async (t) => {
  const expected = (await get('fields=id,email&sort=-email,id&limit=3&page=2&search=example&meta=*')).json();
  t.equal(expected.data.length, 3);
  for (const query of [
    { fields: ['id', 'email'], sort: ['-email', 'id'], limit: 3, page: 2, search: 'example', meta: ['*'] },
    {
      fields: 'id,email',
      sort: '-email, id',
      limit: '3',
      page: '2',
      search: ' example ',
      meta: 'total_count,filter_count',
    },
    { fields: ['id,email'], sort: ['-email,id', ''], limit: 3, page: 2, offset: null, search: 'example', meta: '*' },
  ]) {
    t.strictSame((await search(query)).json(), expected, JSON.stringify(query));
  }
  t.strictSame((await search({ search: 1 })).json(), (await get('search=1')).json());
  const counted = (await get('aggregate[count]=id,*&groupBy=title&filter[last_name]=Tester')).json();
  for (const aggregate of [{ count: ['id', '*'] }, { count: 'id,*' }, '{"count":["id","*"]}']) {
    const query = { aggregate, groupBy: 'title', filter: { last_name: 'Tester' } };
    t.strictSame((await search(query)).json(), counted, JSON.stringify(aggregate));
  }
});

t.test('QUERY_LIMIT_MAX limits the length of every list', async (t) => {
  const ask = (query: string) => capped.get(`/users?${query}`, headers);
  for (const query of ['', 'limit=-1', 'limit=3']) t.equal((await ask(query)).json().data.length, 3, query);
  refused(t, await ask('limit=4'), 'INVALID_QUERY', 'over the maximum');
});

t.test('sort orders by several fields, ascending or descending', async (t) => {
  const sorted = async (sort: string) => {
    const { data } = (await get(`filter[last_name]=Tester&limit=-1&fields=id&sort=${sort}`)).json();
    return data.map(({ id }: { id: string }) => ids.indexOf(id));
  };
  t.strictSame(await sorted('last_access'), [0, 1, 2, 3, 4, 5, 6]);
  t.strictSame(await sorted('-last_access'), [6, 5, 4, 3, 2, 1, 0]);
  t.strictSame(await sorted('title,-last_access'), [2, 1, 0, 6, 5, 4, 3]);
  t.strictSame(await sorted('title&sort=-last_access'), [2, 1, 0, 6, 5, 4, 3]);
  const byId = [...ids].sort().map((id) => ids.indexOf(id));
  t.strictSame(await sorted('last_name'), byId, 'the id is the last sort key');
  t.strictSame(await sorted('-last_name'), byId);
  t.strictSame(await sorted('role.name'), byId);
  await invalid(t, 'sort[a]=b', 'sort=policies');
  for (const name of ['x', 'password', '-password', 'role.x', 'email.x', '-', 'role.']) {
    forbidden(t, await get(`sort=${name}`), name);
  }
});

t.test('meta returns the requested counts', async (t) => {
  const meta = async (query: string) => (await get(query)).json().meta;
  t.equal(await meta('limit=1'), undefined);
  const filter = 'filter[last_name]=Tester&limit=1&page=3';
  const [total_count, filter_count] = [9, 7];
  t.strictSame(await meta(`meta=total_count&${filter}`), { total_count });
  t.strictSame(await meta(`meta=filter_count&${filter}`), { filter_count });
  for (const both of ['*', 'total_count,filter_count', 'filter_count&meta=total_count']) {
    t.same(await meta(`meta=${both}&${filter}`), { total_count, filter_count }, both);
  }
  t.strictSame(await meta('meta=filter_count&search=tester'), { filter_count });
  await invalid(t, 'meta=x', 'meta[a]=b', 'meta=total_count,x');
});

t.test('search finds users by their texts', async (t) => {
  await finds(t, {
    'search=tester': names,
    'search=%20ANN%20': ['Ann', 'ann'],
    'search=%25': ['b%c'],
    'search=b_c': ['b_c'],
    'search=': names,
    'search=nothing%20at%20all': [],
    [`search=${ids[6]?.toUpperCase()}`]: ['Zed'],
    'search=**********': [],
  });
  await invalid(t, 'search[]=a', 'search[a]=b', `search=${'x'.repeat(256)}`);
});

t.test('filters on texts support the operators for texts', async (t) => {
  await finds(t, {
    'filter[first_name]=Ann': ['Ann'],
    'filter[first_name][_eq]=Ann': ['Ann'],
    'filter[first_name][_neq]=Ann': ['ann', 'b%c', 'b_c', '', 'Zed'],
    'filter[first_name][_eq]=null': [null],
    'filter[first_name][_neq]=null': ['Ann', 'ann', 'b%c', 'b_c', '', 'Zed'],
    'filter[first_name][_in]=Ann,Zed': ['Ann', 'Zed'],
    'filter[first_name][_in][]=Ann&filter[first_name][_in][]=Zed': ['Ann', 'Zed'],
    'filter[first_name][_in]=["Ann","Zed"]': ['Ann', 'Zed'],
    'filter[first_name][_in]=': [],
    'filter[first_name][_nin]=Ann,Zed': ['ann', 'b%c', 'b_c', ''],
    'filter[first_name][_null]': [null],
    'filter[first_name][_null]=true': [null],
    'filter[first_name][_nnull]=false': [null],
    'filter[first_name][_empty]=': ['', null],
    'filter[first_name][_empty]=false': ['Ann', 'ann', 'b%c', 'b_c', 'Zed'],
    'filter[first_name][_nempty]=true': ['Ann', 'ann', 'b%c', 'b_c', 'Zed'],
    'filter[first_name][_contains]=_': ['b_c'],
    'filter[first_name][_ncontains]=nn': ['b%c', 'b_c', '', 'Zed'],
    'filter[first_name][_icontains]=AN': ['Ann', 'ann'],
    'filter[first_name][_starts_with]=A': ['Ann'],
    'filter[first_name][_nstarts_with]=A': ['ann', 'b%c', 'b_c', '', 'Zed'],
    'filter[first_name][_istarts_with]=A': ['Ann', 'ann'],
    'filter[first_name][_nistarts_with]=A': ['b%c', 'b_c', '', 'Zed'],
    'filter[first_name][_ends_with]=%25c': ['b%c'],
    'filter[first_name][_nends_with]=c': ['Ann', 'ann', '', 'Zed'],
    'filter[first_name][_iends_with]=N': ['Ann', 'ann'],
    'filter[first_name][_niends_with]=N': ['b%c', 'b_c', '', 'Zed'],
    'filter={"first_name":{"_eq":"Ann"}}': ['Ann'],
    'filter[first_name][_neq]=Ann&filter[title]=one': ['ann', 'b%c'],
    'filter[_or][0][first_name]=Ann&filter[_or][1][first_name]=Zed': ['Ann', 'Zed'],
    'filter[_and][0][title]=one&filter[_and][1][_or][0][first_name]=Ann': ['Ann'],
    'filter=': names,
  });
  await invalid(
    t,
    'filter[first_name][_eq]=',
    'filter[first_name][_in]=[]',
    'filter[first_name][_in]=[',
    'filter={',
    'filter=[]',
  );
  for (const operator of ['_regex', '_lt', '_gt', '_between', '_nicontains', '_x', '_', '_some']) {
    await invalid(t, `filter[first_name][${operator}]=a`);
  }
  await invalid(t, 'filter[first_name][_null]=x', 'filter[_or]=x', 'filter[_and][a]=b');
  for (const name of ['x', 'password', 'role][x', 'email][x', 'policies][x', 'token_hash']) {
    forbidden(t, await get(`filter[${name}][_eq]=a`), name);
  }
});

t.test('filters on other types support the operators for each type', async (t) => {
  await finds(t, {
    'filter[email_notifications]=false': ['Ann'],
    'filter[email_notifications][_neq]=true': ['Ann'],
    'filter[last_access][_lt]=2024-01-02': ['Ann'],
    'filter[last_access][_lte]=2024-01-02T00:00:00Z': ['Ann', 'ann'],
    'filter[last_access][_gt]=2024-01-06': ['Zed'],
    'filter[last_access][_gte]=2024-01-06T01:00:00%2B01:00': [null, 'Zed'],
    'filter[last_access][_eq]=2024-01-01': ['Ann'],
    'filter[last_access][_between]=2024-01-02,2024-01-03': ['ann', 'b%c'],
    'filter[last_access][_nbetween]=["2024-01-02","2024-01-06"]': ['Ann', 'Zed'],
    'filter[last_access][_in]=2024-01-01,2024-01-07': ['Ann', 'Zed'],
    [`filter[id][_eq]=${ids[0]?.toUpperCase()}`]: ['Ann'],
    'filter[tags][_null]=true': names,
    'filter[role][_null]=true': names,
    'filter[role][name][_null]=true': names,
    'filter[policies][_none][name]=Other': names,
    'filter[policies][_some][name]=Other': [],
  });
  await invalid(t, 'filter[tags][_eq]=a', 'filter[tags][_contains]=a', 'filter[auth_data][_in]=a', 'filter[id][_gt]=a');
  await invalid(t, 'filter[id]=x', 'filter[email_notifications]=x', 'filter[email_notifications][_in]=true');
  for (const values of ['', '2024-01-01', '2024-01-01,2024-01-02,2024-01-03', 'a,b', '[]']) {
    const response = await get(`filter[last_access][_between]=${values}`);
    if (values === '') t.ok([200, 400].includes(response.statusCode));
    else refused(t, response, 'INVALID_QUERY', values);
  }
  const emails = async (query: string) =>
    (await get(`fields=email&${query}`)).json().data.map((item: { email: string }) => item.email);
  for (const query of [
    'filter[role][policies][name]=Other',
    'filter[policies][name]=All',
    'filter[role][users][_some][id]=$CURRENT_USER',
  ]) {
    t.strictSame(await emails(query), [caller.email], query);
  }
});

t.test('variables in filters are replaced by their values', async (t) => {
  const count = async (query: string) => (await get(`limit=-1&${query}`)).json().data.length;
  for (const query of [
    'filter[id]=$CURRENT_USER',
    'filter[role]=$CURRENT_ROLE',
    'filter[role][_in]=$CURRENT_ROLES',
    'filter[policies][id][_in]=$CURRENT_POLICIES',
  ]) {
    t.equal(await count(query), 1, query);
  }
  const user = ids[0] as string;
  const units = { 1000: 's sec second seconds', 60000: 'm min minute minutes', 3600000: 'h hr hour hours' };
  const more = { 1: 'ms millisecond', 86400000: 'd day days', 604800000: 'w week weeks' };
  const calendar = { [30 * 86_400_000]: 'mo month months', [365 * 86_400_000]: 'y yr year years' };
  for (const [milliseconds, words] of Object.entries({ ...more, ...units, ...calendar })) {
    const amount = { 1: 60_000, 1000: 60 }[milliseconds] ?? 2;
    await changeUser(app, user, { lastAccess: new Date(Date.now() - amount * Number(milliseconds)) });
    for (const unit of words.split(' ')) {
      const [more, less] = [amount * 3, Math.floor(amount / 2)];
      const within = `filter[id]=${user}&filter[last_access][_gt]=$NOW(-${more} ${unit})`;
      t.equal(await count(within), 1, `${more} ${unit}`);
      t.equal(await count(`filter[id]=${user}&filter[last_access][_gt]=$NOW(-${less} ${unit})`), 0, `${less} ${unit}`);
    }
  }
  t.equal(await count(`filter[id]=${user}&filter[last_access][_lt]=$NOW`), 1);
  t.equal(await count(`filter[id]=${user}&filter[last_access][_lt]=$NOW(%2B1 day)`), 1);
  await invalid(
    t,
    'filter[last_access][_lt]=$NOW(1 x)',
    'filter[last_access][_lt]=$NOW()',
    'filter[last_access][_lt]=$LATER',
  );
  await changeUser(app, user, { lastAccess: moments[0] as Date });
});

t.test('fields selects fields of items and of related items', async (t) => {
  const keys = async (fields: string) => (await get(`filter[id]=$CURRENT_USER&${fields}`)).json().data[0];
  t.strictSame(await keys('fields=role.id,policies.name'), { role: { id: role }, policies: [{ name: 'All' }] });
  t.strictSame(await keys('fields[]=role&fields[]=policies'), { role, policies: [adminPolicy] });
  t.strictSame(await keys('fields=role.policies.name'), { role: { policies: [{ name: 'Other' }] } });
  t.strictSame(Object.keys(await keys('fields=')), Object.keys(await keys('fields=*')));
  t.equal((await keys('fields=*.*')).role.id, role);
  t.equal((await keys('fields=role.*')).role.parent, null);
  await invalid(t, 'fields[a]=id', 'fields[a][b]=id');
  for (const name of ['x', 'password', 'role.x', 'email.x', 'role.users.password', 'id,x']) {
    forbidden(t, await get(`fields=${name}`), name);
  }
});

t.test('aggregate and groupBy return one row for each group', async (t) => {
  const rows = async (query: string) => (await get(`filter[last_name]=Tester&${query}`)).json().data;
  t.strictSame(await rows('aggregate[count]=*'), [{ count: 7 }]);
  t.strictSame(await rows('aggregate[count]=first_name'), [{ count: { first_name: 6 } }]);
  for (const fields of ['*,first_name', 'first_name,*']) {
    t.same(await rows(`aggregate[count]=${fields}`), [{ count: { '*': 7, first_name: 6 } }], fields);
  }
  t.strictSame(await rows('aggregate[countDistinct]=title'), [{ countDistinct: { title: 2 } }]);
  t.same(await rows('aggregate[count]=*&groupBy=title'), [
    { title: 'one', count: 3 },
    { title: 'two', count: 4 },
  ]);
  t.same(await rows('aggregate[min]=last_access&aggregate[max]=last_access&groupBy[]=title&limit=1'), [
    {
      title: 'one',
      min: { last_access: '2024-01-01T00:00:00.000Z' },
      max: { last_access: '2024-01-03T00:00:00.000Z' },
    },
  ]);
  await invalid(t, 'aggregate[sum]=id', 'aggregate=x', 'aggregate[count]=', 'groupBy=title', 'aggregate[min]=tags');
  for (const query of ['aggregate[count]=password', 'aggregate[min]=x', 'aggregate[count]=*&groupBy=password']) {
    forbidden(t, await get(query), query);
  }
});

t.test('SEARCH accepts the same query', async (t) => {
  const { data, meta } = (
    await search({
      filter: { first_name: { _in: ['Ann', 'Zed'] } },
      fields: ['first_name'],
      sort: ['-last_access'],
      meta: '*',
      limit: 1,
    })
  ).json();
  t.strictSame(data, [{ first_name: 'Zed' }]);
  t.same(meta, { total_count: 9, filter_count: 2 });
  for (const query of [
    { limit: -2 },
    { limit: 'x' },
    { limit: 1.5 },
    { page: {} },
    { fields: {} },
    { meta: 5 },
    { filter: [] },
    { sort: {} },
  ]) {
    refused(t, await search(query), 'INVALID_QUERY', JSON.stringify(query));
  }
  forbidden(t, await search({ filter: { password: 'x' } }), 'a field that cannot be used');
  t.equal(
    (await request({ method: 'SEARCH', url: '/users', headers })).json().data.length,
    5,
    'a request without a body is an empty query',
  );
  for (const payload of [[], { query: [] }, { query: 'x' }]) {
    refused(
      t,
      await request({ method: 'SEARCH', url: '/users', headers, payload }),
      'INVALID_PAYLOAD',
      JSON.stringify(payload),
    );
  }
});
