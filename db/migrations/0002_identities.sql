CREATE TABLE "identities" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"user" uuid NOT NULL,
	"provider" varchar(128) NOT NULL,
	"identifier" varchar(255) NOT NULL,
	"email" text,
	"is_primary" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_used_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "recovery_codes" (
	"user" uuid NOT NULL,
	"hash" varchar(64) NOT NULL,
	CONSTRAINT "recovery_codes_user_hash_pk" PRIMARY KEY("user","hash")
);
--> statement-breakpoint
CREATE TABLE "spent_states" (
	"id" varchar(64) PRIMARY KEY NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "tfa_failures" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "tfa_locked_until" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "identities" ADD CONSTRAINT "identities_user_users_id_fk" FOREIGN KEY ("user") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "recovery_codes" ADD CONSTRAINT "recovery_codes_user_users_id_fk" FOREIGN KEY ("user") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "identities_external_identifier_unique" ON "identities" USING btree ("provider",lower("identifier" collate "C"));--> statement-breakpoint
CREATE UNIQUE INDEX "identities_primary_unique" ON "identities" USING btree ("user") WHERE "identities"."is_primary";--> statement-breakpoint
CREATE INDEX "identities_user_index" ON "identities" USING btree ("user");--> statement-breakpoint
CREATE INDEX "spent_states_expires_at_index" ON "spent_states" USING btree ("expires_at");--> statement-breakpoint
INSERT INTO "identities" ("user", "provider", "identifier", "email", "is_primary")
  SELECT "id", "provider", "external_identifier", "email", true FROM "users"
  WHERE "provider" <> 'default' AND "external_identifier" IS NOT NULL
  ON CONFLICT DO NOTHING;
