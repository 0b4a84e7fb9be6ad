-- Grants a role what the service needs at run time, and nothing else. The role cannot change tables, and can only read the audit log and
-- add rows to it. Run this with the role that owns the tables, after each `npm run migrate`:
--
--   psql "$OWNER_URL" -v role=gatehouse_service -v audit_retention=365d -f db/grants.sql
--
-- `audit_retention` must have the same value as AUDIT_RETENTION. Leave it out if rows of the audit log are kept forever. If the tables are
-- not in `public`, add `-v schema=…`.

\set ON_ERROR_STOP on
\if :{?schema}
\else
  \set schema public
\endif

-- The names of the other two schemas, as in db/database-schemas.ts.
select case when tables = 'public' then 'drizzle' else 'drizzle_' || suffix end as journal,
  case when tables = 'public' then 'pgboss' else 'pgboss_' || suffix end as queue,
  format(
    $body$
      update %I.activity a set position = link.position, hash = link.hash
      from jsonb_to_recordset(links) as link (id uuid, position bigint, hash text)
      where a.id = link.id and a.position is null
    $body$,
    tables) as link_body
from (
  select :'schema' as tables,
    case when :'schema' ~ '^[a-z0-9_]{1,40}$' then :'schema'
      else substr(encode(sha256(convert_to(:'schema', 'UTF8')), 'hex'), 1, 16) end as suffix
) names \gset

begin;

-- PostgreSQL 14 lets every role create tables in `public`.
revoke create on schema :"schema" from public;
revoke all on schema :"schema", :"journal", :"queue" from :"role";
grant usage on schema :"schema", :"journal", :"queue" to :"role";

revoke all on all tables in schema :"schema", :"journal", :"queue" from :"role";
grant select, insert, update, delete on all tables in schema :"schema", :"queue" to :"role";
grant select on :"journal".__drizzle_migrations to :"role";
revoke insert, update, delete on :"schema".migration_compatibility, :"schema".grants_version from :"role";
revoke update, delete on :"schema".activity from :"role";

-- The service links each row of the audit log to the row before it, once.
create or replace function :"schema".link_activity(links jsonb) returns void
  language sql security definer set search_path = pg_catalog, pg_temp as :'link_body';
revoke all on function :"schema".link_activity(jsonb) from public;
grant execute on function :"schema".link_activity(jsonb) to :"role";

-- The service removes rows of the audit log only when they are older than the retention.
drop function if exists :"schema".remove_activity(bigint);
\if :{?audit_retention}
  select format(
    $body$
    begin
      if exists (select from %1$I.activity where position <= through and "timestamp" >= now() - interval %2$L) then
        raise exception 'The audit log has newer rows up to position %%, which db/grants.sql does not allow to be removed.', through;
      end if;
      delete from %1$I.activity where position <= through;
    end
    $body$,
    :'schema', :'audit_retention') as body \gset
  create function :"schema".remove_activity(through bigint) returns void
    language plpgsql security definer set search_path = pg_catalog, pg_temp as :'body';
  revoke all on function :"schema".remove_activity(bigint) from public;
  grant execute on function :"schema".remove_activity(bigint) to :"role";
\endif

commit;
