import t from 'tap';
import { emailChanges } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { findLink, linkIn, mailsTo, tokenFor } from '../helpers/mail/mails.js';
import { codeOf, startTestApp } from '../helpers/service/app.js';
import { day, minute } from '../helpers/service/clock.js';
import { refusesBadTokens } from '../helpers/tokens/link-tokens.js';
import { policyWith } from '../helpers/users/rights.js';
import { logIn } from '../helpers/users/sessions.js';
import { changeUser, createUser, type NewUser, storedUser } from '../helpers/users/users.js';

const service = await startTestApp(t, {
  ACCESS_TOKEN_TTL: '30d',
  REAUTHENTICATION_PERIOD: '30d',
  REFRESH_TOKEN_TTL: '60d',
});
const { app, clock, get, post, request } = service;
const asAdmin = (await logIn(service, 'json')).headers;

let count = 0;
const newAddress = () => `new-${++count}@example.org`;
const ask = (headers: Record<string, string>, email: string) => post('/users/me/email', { email }, headers);
const confirm = (token: string, headers = {}) => post('/users/me/email/confirm', { token }, headers);
const patch = (url: string, payload: object, headers: Record<string, string>) =>
  request({ method: 'PATCH', url, payload, headers });
const withdraw = (headers: Record<string, string>) => request({ method: 'DELETE', url: '/users/me/email', headers });
const profileOf = async (headers: Record<string, string>) => (await get('/users/me/profile', headers)).json().data;

async function newMember(values: NewUser = {}) {
  const user = await createUser(app, values);
  return { ...user, headers: (await logIn(service, 'json', user)).headers };
}

t.test('an address changes when the user confirms it from its mailbox', async (t) => {
  const member = await newMember({ firstName: 'Call 1 800 555 0143', language: 'de-DE' });
  const elsewhere = await logIn(service, 'session', member);
  const email = newAddress();
  const response = await ask(member.headers, email);
  t.equal(response.statusCode, 204);
  t.equal(response.body, '');
  t.match(await profileOf(member.headers), { email: member.email, pending_email: email });

  const [mail, ...more] = await mailsTo(app, email);
  t.strictSame(more, []);
  t.ok(
    mail && !`${mail.text}${mail.html}`.includes('Call 1'),
    'the email to an unverified address does not contain the user’s name',
  );
  t.match(mail?.subject, 'Bestätigen Sie');
  const link = linkIn(mail ?? { text: '' });
  t.equal(link.href.split('?')[0], `${app.config.PUBLIC_URL}/account/confirm-email`);
  const [notice] = await mailsTo(app, member.email);
  t.equal(linkIn(notice ?? { text: '' }).pathname, '/account/cancel-email-change');
  t.notOk(notice?.text.includes(email));

  clock.advance(5 * minute);
  t.equal((await confirm(link.searchParams.get('token') ?? '', member.headers)).statusCode, 204);
  const stored = await storedUser(app, member.id);
  t.equal(stored.email, email);
  t.ok(Math.abs(Number(stored.emailVerifiedAt) - clock.now().getTime()) < minute);
  t.match(
    await profileOf(member.headers),
    { email, pending_email: null, email_verified: true },
    'the session that confirms the change continues',
  );
  t.equal((await get('/users/me', elsewhere.headers)).statusCode, 401, 'all other sessions have ended');
  t.equal((await post('/auth/login', { email, password: member.password })).statusCode, 200);
  refused(t, await post('/auth/login', member), 'INVALID_CREDENTIALS', 'the old address');
  const told = (await mailsTo(app, member.email)).at(-1);
  t.match(told?.subject, 'E-Mail-Adresse', 'the old address is notified of the change');
  refused(t, await confirm(link.searchParams.get('token') ?? ''), 'FORBIDDEN', 'a used token');
});

t.test('confirming without a session ends all sessions of the user', async (t) => {
  const member = await newMember();
  const other = await newMember();
  const email = newAddress();
  await ask(member.headers, email);
  t.equal((await confirm(await tokenFor(app, email), other.headers)).statusCode, 204);
  refused(t, await get('/users/me', member.headers), 'INVALID_CREDENTIALS', 'ended');
  t.equal((await get('/users/me', other.headers)).statusCode, 200, 'the session of another user is unaffected');
  t.equal((await storedUser(app, other.id)).email, other.email);
});

t.test('a link can be confirmed despite an unusable cookie', async (t) => {
  const member = await newMember();
  const email = newAddress();
  await ask(member.headers, email);
  const cookie = 'gatehouse_session_token=x';
  t.equal((await confirm(await tokenFor(app, email), { cookie })).statusCode, 204);
});

t.test('an invalid token is rejected', async (t) => {
  const member = await newMember();
  const fresh = async () => {
    const email = newAddress();
    await ask((await newMember()).headers, email);
    return tokenFor(app, email);
  };
  await ask(member.headers, newAddress());
  const cancelling = await tokenFor(app, member.email);
  await refusesBadTokens(t, service, { take: confirm, fresh, others: [cancelling], lifetime: 7 * day });
  for (const body of [{}, { token: 7 }, { token: '' }, { token: 'x', email: 'x@example.com' }]) {
    refused(t, await post('/users/me/email/confirm', body), 'INVALID_PAYLOAD', JSON.stringify(body));
    refused(t, await post('/users/me/email/cancel', body), 'INVALID_PAYLOAD', JSON.stringify(body));
  }
  for (const email of [
    undefined,
    null,
    7,
    'no address',
    '',
    'a@example.com, b@example.com',
    `${'a'.repeat(128)}@b.c`,
  ]) {
    const { headers } = await newMember();
    refused(t, await post('/users/me/email', { email }, headers), 'INVALID_PAYLOAD', JSON.stringify(email) ?? 'none');
  }
});

t.test('for a taken address, the response is the same, and the owner gets an email without a token', async (t) => {
  const member = await newMember({ firstName: 'Mallory' });
  const owner = await createUser(app, { firstName: 'Ada', email: 'Owner.Of.It@Example.com' });
  const free = await ask((await newMember()).headers, newAddress());
  const taken = await ask(member.headers, owner.email.toUpperCase());
  t.equal(taken.statusCode, 204);
  t.strictSame(Object.keys(taken.headers).sort(), Object.keys(free.headers).sort());
  t.match(await profileOf(member.headers), { email: member.email, pending_email: owner.email.toUpperCase() });
  const [mail, ...more] = await mailsTo(app, owner.email);
  t.strictSame(more, []);
  t.match(mail?.subject, /^You already have an account/);
  t.notOk(findLink(mail ?? { text: '' }), 'no token');
  t.match(mail?.text, /\/account\/login\n/);
  t.match(mail?.text, /\/account\/forgot-password\n/);
  t.notMatch(`${mail?.text}${mail?.html}`, /Mallory/);
  t.equal((await mailsTo(app, member.email)).length, 1, 'the caller’s mailbox gets its notice');
  for (const status of ['suspended', 'invited', 'draft', 'archived']) {
    const silent = await createUser(app, { status });
    t.equal((await ask(member.headers, silent.email)).statusCode, 204);
    t.strictSame(await mailsTo(app, silent.email), [], status);
  }
});

t.test('a request for the current address changes nothing', async (t) => {
  const member = await newMember({ email: 'Same.Address@example.com' });
  const email = newAddress();
  await ask(member.headers, email);
  const before = (await mailsTo(app, member.email)).length;
  t.equal((await ask(member.headers, 'same.address@EXAMPLE.com')).statusCode, 204);
  t.equal((await mailsTo(app, member.email)).length, before, 'no email');
  t.equal((await profileOf(member.headers)).pending_email, null, 'it replaces the earlier request');
});

t.test('a new request invalidates the previous one', async (t) => {
  const member = await newMember();
  const [first, second] = [newAddress(), newAddress()];
  await ask(member.headers, first);
  const old = await tokenFor(app, first);
  await ask(member.headers, second);
  refused(t, await confirm(old), 'FORBIDDEN', 'invalidated');
  t.equal((await confirm(await tokenFor(app, second))).statusCode, 204);
  t.equal((await storedUser(app, member.id)).email, second);
});

t.test('a user can withdraw a request, and the owner of the old mailbox can cancel it', async (t) => {
  const member = await newMember();
  t.equal((await withdraw(member.headers)).statusCode, 204, 'without a request');
  const email = newAddress();
  await ask(member.headers, email);
  const withdrawn = await tokenFor(app, email);
  t.equal((await withdraw(member.headers)).statusCode, 204);
  t.equal((await profileOf(member.headers)).pending_email, null);
  refused(t, await confirm(withdrawn), 'FORBIDDEN', 'withdrawn');

  await ask(member.headers, newAddress());
  const cancelling = await tokenFor(app, member.email);
  const cancel = (token: string) => post('/users/me/email/cancel', { token });
  const another = newAddress();
  await ask(member.headers, another);
  const cancelled = await tokenFor(app, another);
  t.equal((await cancel(cancelling)).statusCode, 204, 'whichever request is pending');
  t.equal((await profileOf(member.headers)).pending_email, null);
  t.equal((await cancel(cancelling)).statusCode, 204, 'a second time');
  refused(t, await confirm(cancelled), 'FORBIDDEN', 'cancelled');
  refused(t, await cancel(`${cancelling.slice(0, -2)}xx`), 'INVALID_TOKEN', 'forged');
  const last = newAddress();
  await ask(member.headers, last);
  const confirming = await tokenFor(app, last);
  refused(t, await cancel(confirming), 'FORBIDDEN', 'a confirmation token');
  await confirm(confirming);
  refused(t, await cancel(cancelling), 'FORBIDDEN', 'the address has changed');
  const slow = await newMember();
  await ask(slow.headers, newAddress());
  const late = await tokenFor(app, slow.email);
  clock.advance(8 * day);
  refused(t, await cancel(late), 'TOKEN_EXPIRED', 'too late');
});

t.test('a link becomes invalid when the account changes', async (t) => {
  const changes = {
    suspended: { status: 'suspended' },
    'another address': { email: 'changed-by-an-administrator@example.com' },
    'another link was used': { usedLinks: 7 },
  };
  for (const [what, change] of Object.entries(changes)) {
    const { id, headers } = await newMember();
    const email = newAddress();
    await ask(headers, email);
    const token = await tokenFor(app, email);
    await changeUser(app, id, change);
    refused(t, await confirm(token), 'FORBIDDEN', what);
  }
  const member = await newMember();
  const email = newAddress();
  await ask(member.headers, email);
  const token = await tokenFor(app, email);
  t.equal((await patch(`/users/${member.id}`, { email: newAddress() }, asAdmin)).statusCode, 200);
  t.strictSame(
    await app.db.$count(emailChanges),
    await pendingExcept(member.id),
    'a new address set by an administrator ends the request',
  );
  refused(t, await confirm(token), 'FORBIDDEN', 'an administrator has set another address');
});

const pendingExcept = async (id: string) =>
  (await app.db.select().from(emailChanges)).filter(({ user }) => user !== id).length;

t.test('an address that another user takes in the meantime stays with that user', async (t) => {
  const member = await newMember();
  const email = newAddress();
  await ask(member.headers, email);
  const token = await tokenFor(app, email);
  const owner = await createUser(app, { email: email.toUpperCase() });
  refused(t, await confirm(token), 'FORBIDDEN', 'taken');
  t.equal((await storedUser(app, member.id)).email, member.email);
  t.equal((await storedUser(app, owner.id)).email, email.toUpperCase());
});

t.test('of twenty simultaneous confirmations, only one succeeds', async (t) => {
  const member = await newMember();
  const email = newAddress();
  await ask(member.headers, email);
  const token = await tokenFor(app, email);
  const responses = await Promise.all(Array.from({ length: 20 }, () => confirm(token)));
  t.strictSame(responses.map(({ statusCode }) => statusCode).sort(), [204, ...Array(19).fill(403)]);
});

t.test('if two users confirm the same address simultaneously, only one gets it', async (t) => {
  for (let round = 0; round < 5; round++) {
    const email = newAddress();
    const people = [await newMember(), await newMember()];
    const tokens: string[] = [];
    for (const { headers } of people) {
      await ask(headers, email);
      tokens.push(await tokenFor(app, email));
    }
    const responses = await Promise.all(tokens.map((token) => confirm(token)));
    t.strictSame(responses.map(({ statusCode }) => statusCode).sort(), [204, 403]);
    t.equal(codeOf(responses.find(({ statusCode }) => statusCode === 403) as never), 'FORBIDDEN');
  }
});

t.test('an update of the caller’s own row starts the same email change', async (t) => {
  const policy = await policyWith(app, [
    { collection: 'users', action: 'read', fields: ['*'], permissions: { id: { _eq: '$CURRENT_USER' } } },
    {
      collection: 'users',
      action: 'update',
      fields: ['email', 'title'],
      permissions: { id: { _eq: '$CURRENT_USER' } },
    },
  ]);
  const owner = await createUser(app);
  const forms = {
    me: (_id: string, data: object) => ['/users/me', data] as const,
    one: (id: string, data: object) => [`/users/${id.toUpperCase()}`, data] as const,
    keys: (id: string, data: object) => ['/users', { keys: [id], data }] as const,
    query: (id: string, data: object) => ['/users', { query: { filter: { id: { _eq: id } } }, data }] as const,
    list: (id: string, data: object) => ['/users', [{ id, ...data }]] as const,
  };
  for (const [form, write] of Object.entries(forms)) {
    for (const email of [newAddress(), owner.email]) {
      const member = await newMember({ policies: [policy] });
      const response = await patch(...(write(member.id, { email, title: 'Dr' }) as [string, object]), member.headers);
      t.equal(response.statusCode, 200, `${form}: ${response.body}`);
      const { data } = response.json();
      const updated = Array.isArray(data) ? data[0] : data;
      t.match(updated, { email: member.email, title: 'Dr', pending_email: email }, form);
      t.match(await profileOf(member.headers), { email: member.email, pending_email: email });
      t.equal((await mailsTo(app, email)).length > 0, true);
      if (email !== owner.email) {
        t.equal((await confirm(await tokenFor(app, email), member.headers)).statusCode, 204);
        t.equal((await storedUser(app, member.id)).email, email);
        const me = (await get('/users/me', member.headers)).json().data;
        t.notOk('pending_email' in me, 'the field is in no other response');
      }
    }
  }
  for (const [form, write] of Object.entries(forms)) {
    const name = `unicode-${++count}`;
    const stored = `${name}@xn--mller-kva.example`;
    const member = await newMember({ policies: [policy] });
    const change = write(member.id, { email: `${name}@MÜLLER.example` }) as [string, object];
    t.equal((await patch(...change, member.headers)).statusCode, 200, form);
    t.equal((await profileOf(member.headers)).pending_email, stored, `${form}: in the ASCII form`);
    t.equal((await confirm(await tokenFor(app, stored), member.headers)).statusCode, 204);
    t.equal((await storedUser(app, member.id)).email, stored);
    t.equal((await patch(...change, member.headers)).statusCode, 200);
    t.equal((await profileOf(member.headers)).pending_email, null, `${form}: the current address`);
    t.equal((await mailsTo(app, stored)).length, 1, `${form}: the current address gets no email`);
  }
  const plain = await newMember({
    policies: [await policyWith(app, [{ collection: 'users', action: 'update', fields: ['title'] }])],
  });
  refused(t, await patch('/users/me', { email: newAddress() }, plain.headers), 'FORBIDDEN', 'without the permission');
  const bad = await newMember({ policies: [policy] });
  refused(t, await patch('/users/me', { email: 'no address' }, bad.headers), 'FAILED_VALIDATION', 'not an address');
  t.notOk('pending_email' in (await patch('/users/me', { title: 'x' }, bad.headers)).json().data);
});

t.test('an update of several users returns the pending address with the caller’s own user only', async (t) => {
  const rights = (fields: string[]) =>
    policyWith(app, [
      { collection: 'users', action: 'read', fields, permissions: { title: { _neq: 'hidden' } } },
      { collection: 'users', action: 'update', fields: ['email', 'title'] },
    ]);
  const all = await rights(['*']);
  const titles = await rights(['title']);
  const [first, last, hidden] = await Promise.all([createUser(app), createUser(app), createUser(app)]);
  const update = async (policy: string, query: string) => {
    const member = await newMember({ policies: [policy] });
    const email = newAddress();
    const list = [
      { id: hidden.id, title: 'hidden' },
      { id: first.id, title: 'first' },
      { id: member.id, title: 'own', email },
      { id: last.id, title: 'last', email: newAddress() },
    ];
    const response = await patch(`/users${query}`, list, member.headers);
    t.equal(response.statusCode, 200, response.body);
    return { ...response.json(), email };
  };
  const every = await update(all, '?meta=filter_count');
  t.match(every.data, [{ title: 'first' }, { title: 'own', pending_email: every.email }, { title: 'last' }]);
  t.equal(every.data.filter((user: object) => 'pending_email' in user).length, 1);
  t.type(every.meta.filter_count, 'number');
  const few = await update(titles, '?fields=title');
  t.strictSame(few.data, [{ title: 'first' }, { title: 'own', pending_email: few.email }, { title: 'last' }]);
});

t.test('administrators, and callers who update other users, change addresses immediately', async (t) => {
  const member = await newMember();
  const email = newAddress();
  const response = await patch(`/users/${member.id}`, { email }, asAdmin);
  t.equal(response.json().data.email, email);
  t.notOk('pending_email' in response.json().data);
  const policy = await policyWith(app, [
    { collection: 'users', action: 'read', fields: ['*'] },
    { collection: 'users', action: 'update', fields: ['email'] },
  ]);
  const desk = await newMember({ policies: [policy] });
  const target = await createUser(app);
  const moved = newAddress();
  t.equal((await patch(`/users/${target.id}`, { email: moved }, desk.headers)).json().data.email, moved);
});

t.test('with EMAIL_CHANGE_CONFIRMATION=false, an address changes immediately, as in Directus', async (t) => {
  const other = await startTestApp(t, { EMAIL_CHANGE_CONFIRMATION: 'false' });
  const policy = await policyWith(other.app, [
    { collection: 'users', action: 'read', fields: ['*'] },
    { collection: 'users', action: 'update', fields: ['email'] },
  ]);
  const user = await createUser(other.app, { policies: [policy] });
  const { headers } = await logIn(other, 'json', user);
  const send = (email: string) => other.request({ method: 'PATCH', url: '/users/me', payload: { email }, headers });
  const response = await send('directly@example.org');
  t.equal(response.json().data.email, 'directly@example.org');
  t.equal((await storedUser(other.app, user.id)).emailVerifiedAt, null);
  const taken = await createUser(other.app);
  refused(t, await send(taken.email), 'RECORD_NOT_UNIQUE', 'taken');
});

t.test('requests that are never confirmed are deleted', async (t) => {
  const { deleteExpiredEmailChanges } = await import('../../db/queries/users/email-changes.js');
  const member = await newMember();
  await ask(member.headers, newAddress());
  await deleteExpiredEmailChanges(app.db, clock.now());
  t.ok((await profileOf(member.headers)).pending_email);
  clock.advance(8 * day);
  t.equal((await profileOf(member.headers)).pending_email, null, 'expired');
  await deleteExpiredEmailChanges(app.db, clock.now());
  t.equal(await app.db.$count(emailChanges), 0);
});
