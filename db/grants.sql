-- Grants a role what the service needs at run time, and nothing else. The role cannot change tables, and can only read the audit log and
-- add rows to it. Run this with the role that owns the tables, after each `npm run migrate`:
--
--   psql "$OWNER_URL" -v role=gatehouse_service -v audit_retention=365d -f db/grants.sql
--
-- `audit_retention` must have the same value as AUDIT_RETENTION. Leave it out if rows of the audit log are kept forever.

\set ON_ERROR_STOP on
begin;

-- PostgreSQL 14 lets every role create tables here.
revoke create on schema public from public;
revoke all on schema public, drizzle, pgboss from :"role";
grant usage on schema public, drizzle, pgboss to :"role";

revoke all on all tables in schema public, drizzle, pgboss from :"role";
grant select, insert, update, delete on all tables in schema public, pgboss to :"role";
grant select on drizzle.__drizzle_migrations to :"role";
revoke insert, update, delete on public.migration_compatibility from :"role";
revoke update, delete on public.activity from :"role";

-- The service links each row of the audit log to the row before it, once.
create or replace function public.link_activity(links jsonb) returns void
  language sql security definer set search_path = pg_catalog, pg_temp as $$
    update public.activity a set position = link.position, hash = link.hash
    from jsonb_to_recordset(links) as link (id uuid, position bigint, hash text)
    where a.id = link.id and a.position is null
  $$;
revoke all on function public.link_activity(jsonb) from public;
grant execute on function public.link_activity(jsonb) to :"role";

-- The service removes rows of the audit log only when they are older than the retention.
drop function if exists public.remove_activity(bigint);
\if :{?audit_retention}
  select format(
    $body$
    begin
      if exists (select from public.activity where position <= through and "timestamp" >= now() - interval %L) then
        raise exception 'The audit log has newer rows up to position %%, which db/grants.sql does not allow to be removed.', through;
      end if;
      delete from public.activity where position <= through;
    end
    $body$,
    :'audit_retention') as body \gset
  create function public.remove_activity(through bigint) returns void
    language plpgsql security definer set search_path = pg_catalog, pg_temp as :'body';
  revoke all on function public.remove_activity(bigint) from public;
  grant execute on function public.remove_activity(bigint) to :"role";
\endif

commit;
