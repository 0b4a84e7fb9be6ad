import { createHash } from 'node:crypto';
import type { Test } from 'tap';
import { schemas } from '../database/databases.js';
import { askStored, verifyAuditLog } from '../database/stored.js';
import type { Home } from '../service/service.js';
import type { HeldSession, Ledger } from './ledger.js';
import type { Load } from './world.js';

/** Asserts that a running service has kept everything that it acknowledged. */
export async function assertAcknowledgedKept(t: Test, { asking, ledger, authorization }: Load): Promise<void> {
  t.strictSame(ledger.wrong.slice(0, 10), [], 'clients received no wrong response');
  const revoked = await asking.ask(
    'GET',
    '/activity?filter[action][_eq]=refresh_reused&aggregate[count]=*',
    undefined,
    authorization,
  );
  t.match(
    revoked,
    { status: 200, body: { data: [{ count: 0 }] } },
    'no session was revoked because of a reused refresh token',
  );

  for (const [email, password] of ledger.passwords) {
    const { status } = await asking.ask('POST', '/auth/login', { email, password });
    if (status !== 200) t.fail(`${email} cannot log in: ${status}`);
  }
  t.pass(`${ledger.passwords.size} passwords are valid`);
  const lost: HeldSession[] = [];
  for (const session of ledger.sessions) {
    const { refreshToken: refresh_token } = session;
    const { status, body } = await asking.ask('POST', '/auth/refresh', { refresh_token });
    if (status !== 200) lost.push(session);
    else Object.assign(session, { refreshToken: body.data.refresh_token, generation: session.generation + 1 });
  }
  t.strictSame(lost, [], `${ledger.sessions.length} sessions can be refreshed`);

  const recent = ledger.usedCredentials.slice(-50);
  const again = await Promise.all(recent.map((credential) => asking.ask('POST', '/auth/passkey', { credential })));
  const accepted = again.filter(({ status }) => status !== 401);
  t.strictSame(accepted, [], `${recent.length} challenges of passkeys cannot be used again`);
}

/**
 * Asserts, after the service has stopped, that everything that it acknowledged is stored and that nothing is stored
 * partially.
 */
export async function assertStoredCompletely(
  t: Test,
  home: Home,
  variables: Load['variables'],
  ledger: Ledger,
): Promise<void> {
  const [found] = await askStored(home, stateOf(ledger));
  for (const [what, rows] of Object.entries(found ?? { nothing: null })) t.strictSame(rows, [], what);
  const { code, said } = await verifyAuditLog(home, [], variables);
  t.equal(code, 0, said);
}

/** A statement that returns one row. Each column is named after a rule and lists its violations. */
function stateOf(ledger: Ledger): string {
  const quoted = (texts: readonly string[]) => `array[${texts.map((text) => `'${text}'`).join(', ')}]::text[]`;
  const missing = (emails: readonly string[], states: readonly string[]) =>
    `select email from unnest(${quoted(emails)}) as promised(email)
     where email not in (select email from people where status = any (${quoted(states)}))`;
  const people = (condition: string) => `select email from people where ${condition}`;

  const lists: Record<string, string> = {
    'each acknowledged registration has created a user': missing(ledger.registered, ['unverified', 'active']),
    'each user with a verified address is active': missing(ledger.verified, ['active']),
    'each invited user exists': missing(ledger.invited, ['invited', 'active']),
    'each user who accepted an invitation is active': missing(ledger.accepted, ['active']),
    'each user who is waiting for an email has one in the queue': people(
      "status in ('unverified', 'invited') and mails = 0",
    ),
    'no email is for a user who does not exist':
      'select "user" from mails where "user" is not null and "user" not in (select id::text from users)',
    'no invitation is partially accepted': people("(status in ('invited', 'unverified')) <> (password is null)"),
    'each registration has an audit record and an email': people('registered <> registration_mails'),
    'each invitation has an audit record and an email': people('invited <> invite_mails'),
    'a registered user is active if, and only if, the verification is recorded': people(
      "registered > 0 and verified <> (status = 'active')::int",
    ),
    'an invited user is active if, and only if, the acceptance is recorded': people(
      "invited > 0 and accepted <> (status = 'active')::int",
    ),
    'each new password has a notice': people('reset <> notices'),
    'each used link is recorded, and no other link is': people('used_links <> reset + accepted + verified'),
    'each requested link has an email': `select 'requests' where (select count(*) from mails where kind = 'reset') <>
       (select count(*) from activity where action = 'password_reset_request')`,
    'each link acknowledged to a client has an email':
      "select email from resets where asked > (select count(*) from mails where kind = 'reset' and mails.email = resets.email)",
    'each password was reset as often as its user was told':
      'select email from resets join people using (email) where reset <> done',
    'each session was created by a recorded login': people('sessions > logged_in'),
    'each recorded login has created a session': people(
      // A password reset ends the sessions, and so does removing a passkey.
      'reset = 0 and passkeys_removed = 0 and sessions <> logged_in',
    ),
    'each session has the generation that its client knows': `select held.id from held left join sessions on sessions.id = held.id
       where sessions.generation is distinct from held.generation`,
    'each passkey is stored, with the counter of its authenticator': `select has.id, passkeys.counter from has
       left join passkeys on passkeys.id = has.id where passkeys.counter is distinct from has.counter`,
    'no other passkey is stored': 'select id from passkeys where id not in (select id from has)',
    'each passkey has an audit record, and each removed one has two': `select id, added, removed from (
         select id, 0 as expected from has union all select id, 1 from unnest(${quoted(ledger.removedPasskeys)}::uuid[]) as gone(id)
       ) as known left join passkey_records on item = id::text
       where added is distinct from 1 or removed is distinct from expected`,
    'no audit record is about another passkey': `select item from passkey_records where item not in (select id::text from has)
       and item <> all (${quoted(ledger.removedPasskeys)})`,
    'each change to the passkeys has an audit record and a notice': people(
      'passkeys_added <> added_notices or passkeys_removed <> removed_notices',
    ),
    'each use of a passkey has created a session, and each added passkey has verified the session': people(
      'passkeys_removed = 0 and passkey_sessions <> passkey_uses + passkeys_added',
    ),
    'each used challenge has had its effect': `select id from spent_states where id <> all (${quoted(
      ledger.challenges.map(idOfChallenge),
    )})`,
  };
  const columns = Object.entries(lists).map(
    ([name, list]) => `coalesce((select json_agg(wrong) from (${list}) as wrong), '[]') as "${name}"`,
  );
  const resets = [...ledger.resets].map(([email, { asked, done }]) => `('${email}', ${asked}, ${done})`);
  const passkeys = [...ledger.passkeys.values()].flat().map(({ id, counter }) => `('${id}'::uuid, ${counter})`);
  const held = ledger.sessions.map(({ id, generation }) => `('${id}'::uuid, ${generation})`);
  return `
    with mails as materialized (
      select coalesce(data -> 'changes' ->> 0, data ->> 'kind') as kind, data ->> 'user' as "user", data ->> 'email' as email from (
        select name, data from ${schemas.queue}.job union all select name, data from ${schemas.queue}.archive
      ) as jobs where name = 'mail'
    ),
    records as (
      select item, ${countsOf('action', recordedActions)} from activity where outcome = 'success' group by item
    ),
    mails_to as (
      select "user", count(*) as mails, ${countsOf('kind', mailKinds)} from mails group by "user"
    ),
    begun as (
      select "user", count(*) as sessions, count(*) filter (where verified_by_passkey) as passkey_sessions
      from sessions group by "user"
    ),
    passkey_records as (
      select item, count(*) filter (where action = 'passkey_add') as added, count(*) filter (where action = 'passkey_remove') as removed
      from activity where outcome = 'success' and action in ('passkey_add', 'passkey_remove') group by item
    ),
    changes_by as (
      select "user", ${countsOf('action', passkeyActions)} from activity where outcome = 'success' group by "user"
    ),
    uses_by as (select "user", sum(counter - 1) as passkey_uses from passkeys group by "user"),
    people as materialized (
      select email, password, status, used_links,
        ${[
          ...Object.keys({ ...recordedActions, ...mailKinds, ...passkeyActions }),
          ...['mails', 'sessions', 'passkey_sessions', 'passkey_uses'],
        ]
          .map((name) => `coalesce(${name}, 0) as ${name}`)
          .join(', ')}
      from users
      left join records on records.item = users.id::text
      left join mails_to on mails_to."user" = users.id::text
      left join begun on begun."user" = users.id
      left join changes_by on changes_by."user" = users.id
      left join uses_by on uses_by."user" = users.id
    ),
    resets (email, asked, done) as (${table(resets, "''::text, 0, 0")}),
    has (id, counter) as (${table(passkeys, 'null::uuid, 0')}),
    held (id, generation) as (${table(held, 'null::uuid, 0')})
    select ${columns.join(',\n')}`;
}

/** @param sample a row with the types of the columns, for a table without rows */
const table = (rows: readonly string[], sample: string) =>
  rows.length > 0 ? `values ${rows.join(', ')}` : `select ${sample} where false`;

/** The column names, and the value that each column counts. */
const recordedActions = {
  registered: 'register',
  verified: 'email_verified',
  invited: 'invite',
  accepted: 'invite_accept',
  reset: 'password_reset',
  logged_in: 'login',
};
const passkeyActions = { passkeys_added: 'passkey_add', passkeys_removed: 'passkey_remove' };
const mailKinds = {
  registration_mails: 'registration',
  invite_mails: 'invite',
  notices: 'password_changed',
  added_notices: 'passkey_added',
  removed_notices: 'passkey_removed',
};

/** What identifies a challenge among those that have been used. */
const idOfChallenge = (challenge: string) =>
  createHash('sha256').update(Buffer.from(challenge, 'base64url')).digest('hex');

const countsOf = (column: string, names: Readonly<Record<string, string>>): string =>
  Object.entries(names)
    .map(([name, value]) => `count(*) filter (where ${column} = '${value}') as ${name}`)
    .join(', ');
