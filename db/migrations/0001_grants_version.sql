CREATE TABLE "grants_version" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"version" uuid DEFAULT gen_random_uuid() NOT NULL,
	CONSTRAINT "grants_version_single_row" CHECK ("grants_version"."id" = 1)
);
--> statement-breakpoint
INSERT INTO "grants_version" DEFAULT VALUES;--> statement-breakpoint


-- Replaces "grants_version" in each transaction that changes what roles and policies allow. The function writes to the schema of the table
-- that the trigger belongs to.

CREATE FUNCTION change_grants_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('UPDATE %I.grants_version SET version = gen_random_uuid()', tg_table_schema);
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER roles_change_grants AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON "roles"
	FOR EACH STATEMENT EXECUTE FUNCTION change_grants_version();--> statement-breakpoint
CREATE TRIGGER role_policies_change_grants AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON "role_policies"
	FOR EACH STATEMENT EXECUTE FUNCTION change_grants_version();--> statement-breakpoint
CREATE TRIGGER policies_change_grants AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON "policies"
	FOR EACH STATEMENT EXECUTE FUNCTION change_grants_version();--> statement-breakpoint
CREATE TRIGGER permissions_change_grants AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON "permissions"
	FOR EACH STATEMENT EXECUTE FUNCTION change_grants_version();--> statement-breakpoint
CREATE TRIGGER settings_change_grants AFTER INSERT OR UPDATE OF "public_policy" OR DELETE OR TRUNCATE ON "settings"
	FOR EACH STATEMENT EXECUTE FUNCTION change_grants_version();
