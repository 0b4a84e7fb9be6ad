import { sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { roles, sessions, users } from '../../schema.js';
import { fixedStatement, rows } from '../../statements.js';

/** Who signed in to a session, and how, with the names of RFC 8176. Undefined if the session has ended. */
export async function findSignIn(
  executor: Executor,
  session: string,
): Promise<{ amr: string[]; email: string | null } | undefined> {
  const [found] = await rows<{ amr: string[]; email: string | null }>(
    executor,
    sql`select array_to_json(s.amr) as amr, u.email from ${sessions} s join ${users} u on u.id = s."user"
      where s.id = ${session}::uuid`,
  );
  return found;
}

/** What applications learn about a user, by claim (OpenID Connect Core, 5.1). Claims without a value are absent. */
export type UserClaims = Record<string, string | boolean | number | string[]>;

const claimsOf = fixedStatement<{ user: string }, { claims: UserClaims }>(
  (value) => sql`with recursive chain(id, name, parent, depth) as (
      select r.id, r.name, r.parent, 1 from ${roles} r join ${users} u on u.role = r.id where u.id = ${value('user')}::uuid
      union
      select r.id, r.name, r.parent, chain.depth + 1 from ${roles} r join chain on chain.parent = r.id where chain.depth < 100
    ), names as (select coalesce(json_agg(chain.name order by chain.depth), '[]') as list from chain)
    select json_strip_nulls(json_build_object(
      'name', nullif(concat_ws(' ', nullif(u.first_name, ''), nullif(u.last_name, '')), ''),
      'given_name', u.first_name, 'family_name', u.last_name, 'locale', u.language,
      'picture', case when u.avatar like 'https://%' then u.avatar end,
      'updated_at', extract(epoch from u.profile_updated_at)::int8,
      'email', u.email, 'email_verified', case when u.email is not null then u.email_verified_at is not null end,
      'roles', names.list, 'groups', names.list
    )) as claims from ${users} u cross join names where u.id = ${value('user')}::uuid`,
);

/** The claims about a user; undefined if there is no such user. */
export const findClaims = async (executor: Executor, user: string): Promise<UserClaims | undefined> =>
  (await claimsOf(executor, { user }))[0]?.claims;
