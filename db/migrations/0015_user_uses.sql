-- Works with builds since 0013_attempts_by_account.
-- Older builds still write "users"."last_access", which the triggers below
-- copy to "user_uses". Until the last older build has stopped, it shows only the uses that older builds have recorded.
CREATE TABLE "user_uses" (
	"user" uuid PRIMARY KEY NOT NULL,
	"last_access" timestamp (3) with time zone,
	"last_access_hour" timestamp (0) GENERATED ALWAYS AS (date_trunc('hour', last_access at time zone 'UTC')) STORED,
	"never_used" uuid GENERATED ALWAYS AS (case when last_access is null then "user" end) STORED
) WITH (fillfactor = 30);
--> statement-breakpoint
-- The schema is that of the table, whatever the search path of the session is.
CREATE FUNCTION add_user_uses() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO %I.user_uses ("user", last_access) SELECT id, last_access FROM added', tg_table_schema);
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER users_add_uses AFTER INSERT ON "users" REFERENCING NEW TABLE AS added
	FOR EACH STATEMENT EXECUTE FUNCTION add_user_uses();--> statement-breakpoint
CREATE FUNCTION copy_last_access() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('UPDATE %I.user_uses SET last_access = $1 WHERE "user" = $2', tg_table_schema) USING NEW.last_access, NEW.id;
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER users_copy_last_access AFTER UPDATE OF "last_access" ON "users"
	FOR EACH ROW WHEN (OLD.last_access IS DISTINCT FROM NEW.last_access) EXECUTE FUNCTION copy_last_access();--> statement-breakpoint
-- No user is added until this transaction ends, because the triggers have locked the table.
INSERT INTO "user_uses" ("user", "last_access") SELECT "id", "last_access" FROM "users" ORDER BY "id";--> statement-breakpoint
ALTER TABLE "user_uses" ADD CONSTRAINT "user_uses_user_users_id_fk" FOREIGN KEY ("user") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "user_uses_order_index" ON "user_uses" USING btree ("last_access_hour" desc,"never_used");--> statement-breakpoint
DROP INDEX "users_last_access_index";--> statement-breakpoint
DROP INDEX "sessions_expires_at_index";--> statement-breakpoint
-- Room for new versions of the rows in their own page. Adding a column writes the table again, with this room.
ALTER TABLE "sessions" SET (fillfactor = 45);--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "expires_on" date GENERATED ALWAYS AS ((expires_at at time zone 'UTC')::date) STORED;--> statement-breakpoint
CREATE INDEX "sessions_expires_on_index" ON "sessions" USING btree ("expires_on");--> statement-breakpoint
ALTER TABLE "users" SET (fillfactor = 90);
