import { eq } from 'drizzle-orm';
import t from 'tap';
import { roles, settings, users } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { linkIn, mailsTo, tokenFor } from '../helpers/mail/mails.js';
import { startTestApp } from '../helpers/service/app.js';
import { day, minute } from '../helpers/service/clock.js';
import { refusesBadTokens } from '../helpers/tokens/link-tokens.js';
import { assertUnchanged, createPolicy, createRole, policyWith } from '../helpers/users/rights.js';
import { changeUser, createUser, createUserWithToken } from '../helpers/users/users.js';

const allowed = 'https://app.example.com/welcome';
const service = await startTestApp(t, {
  USER_INVITE_URL_ALLOW_LIST: allowed,
  MAX_BATCH_MUTATION: '5',
  REGISTRATION_ANSWER_TIME: '1ms',
});
const { app, clock, post } = service;
const role = await createRole(app);
const admin = await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] });
const password = 'an entirely new password';

const invite = (body: object, headers = admin.headers) => post('/users/invite', body, headers);
const accept = (token: string, chosen = password) => post('/users/invite/accept', { token, password: chosen });
const found = async (email: string) => (await app.db.select().from(users).where(eq(users.email, email)))[0];
let count = 0;
const address = () => `invited-${++count}@example.com`;

t.test('an invitation is sent, accepted, and used up', async (t) => {
  const email = address();
  const answer = await invite({ email, role });
  t.equal(answer.statusCode, 204, answer.body);
  t.match(await found(email), { status: 'invited', role, password: null, provider: 'default' });
  refused(t, await post('/auth/login', { email, password }), 'INVALID_CREDENTIALS', 'not yet accepted');

  const [mail] = await mailsTo(app, email);
  const link = linkIn(mail ?? { text: '' });
  t.equal(link.href.split('?')[0], `${app.config.PUBLIC_URL}/account/accept-invite`);
  const token = link.searchParams.get('token') ?? '';
  t.equal((await accept(token)).statusCode, 204);
  t.match(await found(email), { status: 'active', role });
  t.equal((await post('/auth/login', { email, password })).statusCode, 200);
  refused(t, await accept(token, 'another password'), 'INVALID_INVITE', 'used');

  const user = await found(email);
  await changeUser(app, user?.id ?? '', { status: 'invited' });
  refused(t, await accept(token), 'INVALID_INVITE', 'used, even if the user is invited again');
});

t.test('a repeated invitation sends another email; an existing user is not invited', async (t) => {
  const another = await createRole(app);
  const email = address();
  await invite({ email, role });
  t.equal((await invite({ email: email.toUpperCase(), role: another })).statusCode, 204);
  t.match(await found(email), { role: another, status: 'invited' });
  t.equal((await mailsTo(app, email)).length, 2, 'the email is sent again, to the stored address');

  for (const status of ['active', 'suspended', 'unverified', 'draft', 'archived']) {
    const user = await createUser(app, { status });
    await assertUnchanged(t, app, status, async () => {
      t.equal((await invite({ email: user.email, role: another })).statusCode, 204, status);
    });
    t.strictSame(await mailsTo(app, user.email), [], status);
  }
});

t.test('an invitation says who invites, and to what', async (t) => {
  const policies = [await createPolicy(app, { adminAccess: true })];
  const inviters = [
    [{ firstName: 'Grace', lastName: 'Hopper' }, 'Grace Hopper'],
    [{ firstName: null, lastName: 'Hopper' }, 'Hopper'],
    [{ firstName: null, lastName: null, email: 'grace@example.com' }, 'grace@example.com'],
    [{ firstName: 'Call', lastName: 'https://evil.example', email: 'ada@example.com' }, 'ada@example.com'],
    [{ firstName: 'x'.repeat(50), lastName: 'y'.repeat(50), email: 'eve@example.com' }, 'eve@example.com'],
    [{ firstName: '<b>', lastName: '{{ url }}' }, '<b> {{ url }}', '&lt;b&gt; {{ url }}'],
  ] as const;
  for (const [columns, name, inHtml = name] of inviters) {
    const inviter = await createUserWithToken(app, { policies, ...columns });
    const email = address();
    t.equal((await invite({ email, role }, inviter.headers)).statusCode, 204);
    const [mail] = await mailsTo(app, email);
    t.match(mail?.text, `${name} has invited you to join Gatehouse.`);
    t.match(mail?.html.replaceAll('<wbr>', ''), `${inHtml} has invited you to join Gatehouse.`);
    clock.advance(8 * day);
    const token = linkIn(mail ?? { text: '' }).searchParams.get('token');
    t.equal((await post('/account/accept-invite/send-again', { token })).statusCode, 204);
    const [, again] = await mailsTo(app, email);
    t.match(again?.text, `${name} has invited you to join Gatehouse.`, 'also after a new link was requested');
  }
});

t.test('invite_expires_at says until when the latest invitation can be accepted', async (t) => {
  const email = address();
  const query = (filter: object, more = '') =>
    service.get(`/users?filter=${encodeURIComponent(JSON.stringify(filter))}${more}`, admin.headers);
  const read = async (more = '&fields=invite_expires_at') =>
    (await query({ email: { _eq: email } }, more)).json().data[0];
  const lasts = async (what: string) => {
    const left = Date.parse((await read()).invite_expires_at) - clock.now().getTime();
    t.ok(left <= 7 * day && left > 7 * day - minute, what);
  };
  const change = (data: object) =>
    app.inject({ method: 'PATCH', url: `/users/${id}`, headers: admin.headers, payload: data });
  await invite({ email, role });
  const { id } = (await found(email)) ?? {};
  await lasts('invited');
  for (const wildcard of ['', '&fields=*']) t.notOk('invite_expires_at' in (await read(wildcard)), wildcard);
  const nested = (await service.get(`/roles/${role}?fields=users.*`, admin.headers)).json().data.users[0];
  t.notOk('invite_expires_at' in nested, 'nested');

  clock.advance(8 * day);
  const expired = { status: { _eq: 'invited' }, invite_expires_at: { _lte: '$NOW' } };
  const idsOf = async (filter: object) =>
    (await query(filter, '&fields=id&limit=-1')).json().data.map((user: { id: string }) => user.id);
  t.ok((await idsOf(expired)).includes(id));
  await invite({ email });
  await lasts('invited again');
  t.notOk((await idsOf(expired)).includes(id));

  clock.advance(8 * day);
  const [mail] = (await mailsTo(app, email)).slice(-1);
  const token = linkIn(mail ?? { text: '' }).searchParams.get('token') ?? '';
  t.equal((await post('/account/accept-invite/send-again', { token })).statusCode, 204);
  await lasts('requested by the user');

  refused(t, await change({ invite_expires_at: null }), 'INVALID_PAYLOAD', 'read-only');
  await change({ title: 'Dr.' });
  await lasts('another change');
  await change({ email: `new-${email}` });
  t.equal((await found(`new-${email}`))?.inviteExpiresAt, null, 'the address has changed');
  await invite({ email: `new-${email}` });
  const [last] = (await mailsTo(app, `new-${email}`)).slice(-1);
  t.equal((await accept(linkIn(last ?? { text: '' }).searchParams.get('token') ?? '')).statusCode, 204);
  t.equal((await found(`new-${email}`))?.inviteExpiresAt, null, 'accepted');

  const desk = await createUserWithToken(app, {
    policies: [await policyWith(app, [{ collection: 'users', action: 'read', fields: ['id', 'email'] }])],
  });
  refused(t, await service.get('/users?fields=invite_expires_at', desk.headers), 'FORBIDDEN', 'a field');
  refused(t, await service.get('/users?filter[invite_expires_at][_null]=true', desk.headers), 'FORBIDDEN', 'a filter');
});

t.test('without a role, only users who are already invited are invited again', async (t) => {
  const list = [address(), address()];
  await invite({ email: list, role });
  t.equal((await invite({ email: [...list, list[0]?.toUpperCase()] })).statusCode, 204);
  for (const email of list) {
    t.equal((await mailsTo(app, email)).length, 2, email);
    t.match(await found(email), { role, status: 'invited' });
  }
  const active = await createUser(app);
  const inviting = { collection: 'users', action: 'create' as const, fields: ['email', 'role', 'status'] };
  const inviter = await createUserWithToken(app, { policies: [await policyWith(app, [inviting])] });
  const above = await createUser(app, {
    status: 'invited',
    policies: [await createPolicy(app, { adminAccess: true })],
  });
  await assertUnchanged(t, app, 'a role is required', async () => {
    for (const other of [address(), active.email]) {
      refused(t, await invite({ email: other }), 'INVALID_PAYLOAD', other);
      refused(t, await invite({ email: [...list, other] }), 'INVALID_PAYLOAD', `with ${other}`);
    }
    refused(t, await invite({ email: above.email }, inviter.headers), 'FORBIDDEN', 'a user with more rights');
  });
});

t.test('several addresses are invited in one request, all or none', async (t) => {
  const list = [address(), address()];
  t.equal((await invite({ email: [...list, list[0]?.toUpperCase()], role })).statusCode, 204);
  for (const email of list) t.equal((await mailsTo(app, email)).length, 1);
  t.equal((await invite({ email: [], role })).statusCode, 204);
  await assertUnchanged(t, app, 'all or none', async () => {
    refused(t, await invite({ email: [address(), 'x'], role }), 'INVALID_PAYLOAD', 'one invalid address');
    refused(t, await invite({ email: Array.from({ length: 6 }, address), role }), 'INVALID_PAYLOAD', 'too many');
  });
});

t.test('a rejected invitation changes nothing', async (t) => {
  const email = address();
  const reader = await createUserWithToken(app, {
    policies: [await policyWith(app, [{ collection: 'users', action: 'read', fields: ['*'] }])],
  });
  await assertUnchanged(t, app, 'refused', async () => {
    const bad = [
      {},
      { email },
      { role },
      { email: 7, role },
      { email: 'x', role },
      { email: 'a@example.com, b@example.com', role },
      { email, role: 'x' },
      { email, role: null },
      { email, role, status: 'active' },
      { email, role, invite_url: 7 },
      { email, role, invite_url: 'https://evil.example/' },
    ];
    for (const body of bad) refused(t, await invite(body), 'INVALID_PAYLOAD', JSON.stringify(body));
    const unknown = { email, role: '00000000-0000-4000-8000-000000000000' };
    refused(t, await invite(unknown), 'INVALID_FOREIGN_KEY', 'unknown role');
    refused(t, await invite({ email, role }, reader.headers), 'FORBIDDEN', 'no permission');
    refused(t, await post('/users/invite', { email, role }), 'FORBIDDEN', 'an anonymous caller');
    const url = { email, role, invite_url: 'https://evil.example/' };
    refused(t, await invite(url, reader.headers), 'FORBIDDEN', 'rights are checked before the URL');
    refused(t, await invite(url), 'INVALID_PAYLOAD', 'a URL that is not allowed');
  });
  t.equal((await invite({ email, role, invite_url: allowed })).statusCode, 204);
  t.equal(linkIn((await mailsTo(app, email))[0] ?? { text: '' }).origin, 'https://app.example.com');
});

t.test('no invitation grants more rights than the inviter has (CVE-2025-24353, GHSA-7h45-q5jx-7r87)', async (t) => {
  const inviting = { collection: 'users', action: 'create' as const, fields: ['email', 'role', 'status'] };
  const inviter = await createUserWithToken(app, { policies: [await policyWith(app, [inviting])] });
  const [administrators] = await app.db.select().from(roles).where(eq(roles.name, 'Administrator'));
  const readsAll = await policyWith(app, [{ collection: 'users', action: 'read', fields: ['*'] }]);
  const reading = await createRole(app, { policies: [readsAll] });
  const under = await createRole(app, { parent: administrators?.id ?? '' });
  const same = await createRole(app, { policies: [await policyWith(app, [inviting])] });
  for (const [name, target] of Object.entries({ administrators: administrators?.id, under, reading })) {
    await assertUnchanged(t, app, name, async () => {
      refused(t, await invite({ email: address(), role: target }, inviter.headers), 'FORBIDDEN', name);
    });
  }
  t.equal((await invite({ email: address(), role }, inviter.headers)).statusCode, 204, 'a role without rights');
  t.equal((await invite({ email: address(), role: same }, inviter.headers)).statusCode, 204, 'rights that they have');
  for (const missing of inviting.fields) {
    const fields = inviting.fields.filter((field) => field !== missing);
    const less = await createUserWithToken(app, { policies: [await policyWith(app, [{ ...inviting, fields }])] });
    refused(t, await invite({ email: address(), role }, less.headers), 'FORBIDDEN', `without ${missing}`);
  }
});

t.test('an invalid token is rejected (CVE-2026-1529, CVE-2025-64708, CVE-2026-27840)', async (t) => {
  const fresh = async () => {
    const email = address();
    await invite({ email, role });
    return tokenFor(app, email);
  };
  const user = await createUser(app);
  await post('/auth/password/request', { email: user.email });
  const others = [await tokenFor(app, user.email)];
  await refusesBadTokens(t, service, { take: (token) => accept(token), fresh, others, lifetime: 7 * day });
  const token = await fresh();
  for (const body of [{}, { token }, { password }, { token, password, role }, { token, password: 7 }]) {
    refused(t, await post('/users/invite/accept', body), 'INVALID_PAYLOAD', JSON.stringify(body));
  }
  await assertUnchanged(t, app, 'a weak password', async () => {
    refused(t, await accept(token, 'password1'), 'FAILED_VALIDATION', 'too_common');
    refused(t, await accept(token, 'seven77'), 'FAILED_VALIDATION', 'short');
  });
  t.equal((await accept(token)).statusCode, 204);
});

t.test('an invitation is invalid after a change of address or status, or deletion (GHSA-fmh4-wcc4-5jm3)', async (t) => {
  for (const change of ['address', 'user', 'status'] as const) {
    const email = address();
    await invite({ email, role });
    const token = await tokenFor(app, email);
    const user = await found(email);
    if (change === 'user') await app.db.delete(users).where(eq(users.email, email));
    else await changeUser(app, user?.id ?? '', change === 'address' ? { email: address() } : { status: 'suspended' });
    refused(t, await accept(token), 'INVALID_INVITE', change);
  }
});

t.test(
  'only the email’s recipient can accept an invitation, not a caller who registers the address (GHSA-fmh4-wcc4-5jm3)',
  async (t) => {
    await app.db.update(settings).set({ publicRegistration: true, publicRegistrationRole: null });
    const email = address();
    await invite({ email, role });
    const token = await tokenFor(app, email);
    await assertUnchanged(t, app, 'a registration with the address', async () => {
      for (const spelling of [email, email.toUpperCase()]) {
        const answer = await post('/users/register', { email: spelling, password: 'the password of a stranger' });
        t.equal(answer.statusCode, 204, 'the response reveals nothing');
      }
    });
    t.equal((await mailsTo(app, email)).length, 1, 'no other email is sent');
    const other = await createUser(app);
    await post('/auth/password/request', { email: other.email });
    refused(t, await accept(await tokenFor(app, other.email)), 'FORBIDDEN', 'the token of another user');
    t.equal((await accept(token)).statusCode, 204, 'the invited user can accept');
    t.match(await found(email), { status: 'active', role });
    refused(
      t,
      await post('/auth/login', { email, password: 'the password of a stranger' }),
      'INVALID_CREDENTIALS',
      'the other password is not valid',
    );
    await app.db.update(settings).set({ publicRegistration: false });
  },
);

t.test('of 50 simultaneous acceptances, one succeeds (GHSA-hc7v-rggr-4hvx, GHSA-hc7v-x88r-fmh4)', async (t) => {
  const email = address();
  await invite({ email, role });
  const token = await tokenFor(app, email);
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, number) => accept(token, `the password of number ${number}`)),
  );
  const winners = answers.flatMap(({ statusCode }, number) => (statusCode === 204 ? [number] : []));
  t.equal(winners.length, 1);
  for (const answer of answers) if (answer.statusCode !== 204) refused(t, answer, 'INVALID_INVITE', 'another request');
  t.equal((await post('/auth/login', { email, password: `the password of number ${winners[0]}` })).statusCode, 200);
});

t.test('ten simultaneous invitations of one address create one user', async (t) => {
  const email = address();
  const answers = await Promise.all(Array.from({ length: 10 }, () => invite({ email, role })));
  t.strictSame([...new Set(answers.map(({ statusCode }) => statusCode))], [204]);
  t.equal((await app.db.select().from(users).where(eq(users.email, email))).length, 1);
});
