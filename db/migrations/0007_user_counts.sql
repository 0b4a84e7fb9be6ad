CREATE TABLE "user_counts" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"change" bigint NOT NULL
);
--> statement-breakpoint
-- The schema is that of the table, whatever the search path of who writes.
CREATE FUNCTION count_users() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF tg_op = 'TRUNCATE' THEN
		-- Not by a deletion: that would leave what others write meanwhile, of users who are gone now.
		EXECUTE format('TRUNCATE %I.user_counts', tg_table_schema);
	ELSE
		EXECUTE format(
			'INSERT INTO %I.user_counts (change) SELECT %s count(*) FROM counted HAVING count(*) > 0',
			tg_table_schema, CASE tg_op WHEN 'DELETE' THEN '-' ELSE '' END
		);
	END IF;
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER users_added AFTER INSERT ON "users" REFERENCING NEW TABLE AS counted
	FOR EACH STATEMENT EXECUTE FUNCTION count_users();--> statement-breakpoint
CREATE TRIGGER users_removed AFTER DELETE ON "users" REFERENCING OLD TABLE AS counted
	FOR EACH STATEMENT EXECUTE FUNCTION count_users();--> statement-breakpoint
CREATE TRIGGER users_emptied AFTER TRUNCATE ON "users"
	FOR EACH STATEMENT EXECUTE FUNCTION count_users();--> statement-breakpoint
-- Nobody adds any until this transaction ends: the triggers have locked them out.
INSERT INTO "user_counts" ("change") SELECT count(*) FROM "users" HAVING count(*) > 0;
