-- Works with builds since 0000_initial.
CREATE TABLE "active_hours" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "active_hours_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"hour" timestamp (0) NOT NULL,
	"previous" timestamp (0)
);
--> statement-breakpoint
CREATE TABLE "activity_counts" (
	"unit" varchar(8) NOT NULL,
	"series" varchar(32) NOT NULL,
	"start" timestamp (0) NOT NULL,
	"count" bigint NOT NULL,
	CONSTRAINT "activity_counts_unit_series_start_pk" PRIMARY KEY("unit","series","start")
);
--> statement-breakpoint
ALTER TABLE "activity_chain" ADD COLUMN "counted_position" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "login_attempts_locked_index" ON "login_attempts" USING btree ("locked_until","account") WHERE "login_attempts"."locked_until" is not null;--> statement-breakpoint
CREATE INDEX "users_invited_index" ON "users" USING btree ("created_at") WHERE "users"."status" = 'invited';--> statement-breakpoint
CREATE INDEX "users_unverified_index" ON "users" USING btree ("id") WHERE "users"."status" = 'active' and "users"."email" is not null and "users"."email_verified_at" is null;--> statement-breakpoint
CREATE INDEX "users_tfa_locked_index" ON "users" USING btree ("tfa_locked_until") WHERE "users"."tfa_locked_until" is not null;--> statement-breakpoint


-- A user who uses the API for the first time in an hour adds a row to "active_hours". With the rights of the owner, so that it works for a
-- role that has no rights on the new table yet.

CREATE FUNCTION add_active_hour() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	EXECUTE format('INSERT INTO %I.active_hours (hour, previous) VALUES ($1, $2)', tg_table_schema)
		USING NEW.last_access_hour, OLD.last_access_hour;
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER user_uses_active_hour AFTER UPDATE ON "user_uses" FOR EACH ROW
	WHEN (NEW.last_access_hour > coalesce(OLD.last_access_hour, '-infinity'))
	EXECUTE FUNCTION add_active_hour();
