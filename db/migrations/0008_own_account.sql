CREATE TABLE "email_changes" (
	"user" uuid PRIMARY KEY NOT NULL,
	"id" uuid DEFAULT gen_random_uuid() NOT NULL,
	"email" varchar(128) NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "registrations" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"user" uuid NOT NULL,
	"password" text NOT NULL,
	"first_name" varchar(50),
	"last_name" varchar(50),
	"browser_hash" varchar(64),
	"url" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "users" ALTER COLUMN "avatar" SET DATA TYPE varchar(255);--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "authenticated_at" timestamp (3) with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "settings" ADD COLUMN "self_service" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "settings" ADD COLUMN "self_deletion" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "token_set_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "created_at" timestamp (3) with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "email_verified_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "email_changes" ADD CONSTRAINT "email_changes_user_users_id_fk" FOREIGN KEY ("user") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "registrations" ADD CONSTRAINT "registrations_user_users_id_fk" FOREIGN KEY ("user") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "email_changes_expires_at_index" ON "email_changes" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "registrations_user_index" ON "registrations" USING btree ("user");--> statement-breakpoint
CREATE INDEX "registrations_expires_at_index" ON "registrations" USING btree ("expires_at");--> statement-breakpoint
-- A session that was open before this counts as authenticated when it began.
UPDATE "sessions" SET "authenticated_at" = "created_at";--> statement-breakpoint
-- When older users were created, the audit log knows of as many as it still has.
UPDATE "users" u SET "created_at" = a."at" FROM (
	SELECT "item", min("timestamp") AS "at" FROM "activity"
	WHERE "collection" = 'users' AND "action" IN ('create', 'register', 'invite') AND "outcome" = 'success' GROUP BY "item"
) a WHERE u."id"::text = a."item";--> statement-breakpoint
-- An address is verified if a link in a mail to it was used, and it has not been changed since.
UPDATE "users" u SET "email_verified_at" = a."at" FROM (
	SELECT "item", max("timestamp") AS "at" FROM "activity"
	WHERE "collection" = 'users' AND "action" IN ('email_verified', 'invite_accept', 'password_reset') AND "outcome" = 'success' GROUP BY "item"
) a WHERE u."id"::text = a."item" AND u."status" = 'active' AND NOT EXISTS (
	SELECT FROM "activity" c WHERE c."collection" = 'users' AND c."item" = a."item" AND c."timestamp" > a."at"
		AND c."outcome" = 'success' AND c."changed" ? 'email'
);--> statement-breakpoint
-- Addresses that are not verified yet: their password and names wait in "registrations" from now on.
INSERT INTO "registrations" ("user", "password", "first_name", "last_name", "created_at", "expires_at")
	SELECT "id", "password", "first_name", "last_name", now(), now() + interval '7 days' FROM "users"
	WHERE "status" = 'unverified' AND "password" IS NOT NULL;
