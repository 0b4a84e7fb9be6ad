import t from 'tap';
import { bearer, codeOf, startTestApp } from '../helpers/service/app.js';
import { createPolicy } from '../helpers/users/rights.js';
import { createUser } from '../helpers/users/users.js';

const { app, get } = await startTestApp(t);
const headers = bearer('token-of-an-administrator');
await createUser(app, {
  token: 'token-of-an-administrator',
  policies: [await createPolicy(app, { adminAccess: true })],
});
const file = 'c0ffee00-1234-4234-8234-00000000abcd';
const [withFile, withUrl] = ['File', 'Url'];
await createUser(app, { firstName: withFile, avatar: file });
await createUser(app, { firstName: withUrl, avatar: 'https://images.example.com/Ada.png' });

const found = async (query: string) => {
  const response = await get(
    `/users?fields=first_name&filter[first_name][_nnull]=true&sort=first_name&${query}`,
    headers,
  );
  return response.statusCode === 200
    ? response.json().data.map((item: { first_name: string }) => item.first_name)
    : `${response.statusCode} ${codeOf(response)}`;
};

t.test('avatar supports the operators of texts and of ids', async (t) => {
  const expected: Record<string, string[]> = {
    [`filter[avatar][_eq]=${file}`]: [withFile],
    [`filter[avatar][_eq]=${file.toUpperCase()}`]: [withFile],
    [`filter[avatar][_in]=${file.toUpperCase()},other`]: [withFile],
    [`filter[avatar][_neq]=${file}`]: [withUrl],
    [`filter[avatar][_nin]=${file}`]: [withUrl],
    'filter[avatar][_starts_with]=https://': [withUrl],
    'filter[avatar][_contains]=Ada': [withUrl],
    'filter[avatar][_contains]=ada': [],
    'filter[avatar][_icontains]=ada': [withUrl],
    'filter[avatar][_ends_with]=abcd': [withFile],
  };
  for (const [query, names] of Object.entries(expected)) t.strictSame(await found(query), names, query);
  t.equal(await found('filter[avatar][_gt]=a'), '400 INVALID_QUERY', 'no other operators');
});

t.test('a search finds an avatar only by a complete UUID', async (t) => {
  t.strictSame(await found(`search=${file}`), [withFile]);
  t.strictSame(await found(`search=${file.toUpperCase()}`), [withFile]);
  for (const term of ['c0ffee00', 'images.example.com', 'https://images.example.com/Ada.png']) {
    t.strictSame(await found(`search=${term}`), [], term);
  }
});
