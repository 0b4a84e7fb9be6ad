-- Works with builds since 0000_initial.
CREATE TABLE "grants_version" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"version" uuid DEFAULT gen_random_uuid() NOT NULL,
	CONSTRAINT "grants_version_single_row" CHECK ("grants_version"."id" = 1)
);
--> statement-breakpoint
INSERT INTO "grants_version" DEFAULT VALUES;--> statement-breakpoint


-- Replaces the version in "grants_version" in each transaction that changes what roles and policies allow. The function writes to the schema
-- of the table that the trigger belongs to, with the privileges of its owner. The triggers also fire for changes that a replica receives, and
-- while "session_replication_role" is set to load data.

CREATE FUNCTION change_grants_version() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	EXECUTE format(
		'INSERT INTO %I.grants_version DEFAULT VALUES ON CONFLICT (id) DO UPDATE SET version = excluded.version',
		tg_table_schema
	);
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER roles_change_grants AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON "roles"
	FOR EACH STATEMENT EXECUTE FUNCTION change_grants_version();--> statement-breakpoint
ALTER TABLE "roles" ENABLE ALWAYS TRIGGER roles_change_grants;--> statement-breakpoint
CREATE TRIGGER role_policies_change_grants AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON "role_policies"
	FOR EACH STATEMENT EXECUTE FUNCTION change_grants_version();--> statement-breakpoint
ALTER TABLE "role_policies" ENABLE ALWAYS TRIGGER role_policies_change_grants;--> statement-breakpoint
CREATE TRIGGER policies_change_grants AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON "policies"
	FOR EACH STATEMENT EXECUTE FUNCTION change_grants_version();--> statement-breakpoint
ALTER TABLE "policies" ENABLE ALWAYS TRIGGER policies_change_grants;--> statement-breakpoint
CREATE TRIGGER permissions_change_grants AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON "permissions"
	FOR EACH STATEMENT EXECUTE FUNCTION change_grants_version();--> statement-breakpoint
ALTER TABLE "permissions" ENABLE ALWAYS TRIGGER permissions_change_grants;--> statement-breakpoint
CREATE TRIGGER settings_change_grants AFTER INSERT OR UPDATE OF "public_policy" OR DELETE OR TRUNCATE ON "settings"
	FOR EACH STATEMENT EXECUTE FUNCTION change_grants_version();--> statement-breakpoint
ALTER TABLE "settings" ENABLE ALWAYS TRIGGER settings_change_grants;
