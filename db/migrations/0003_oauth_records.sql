-- Works with builds since 0000_initial.
CREATE TABLE "oauth_grants" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"user" uuid NOT NULL,
	"client" text NOT NULL,
	"registered_client" uuid,
	"scopes" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"resources" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"client_name" varchar(100),
	"digest" varchar(64),
	"created_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "oauth_records" (
	"hash" varchar(64) PRIMARY KEY NOT NULL,
	"kind" varchar(32) NOT NULL,
	"payload" jsonb NOT NULL,
	"client" text,
	"registered_client" uuid,
	"user" uuid,
	"session" uuid,
	"grant" uuid,
	"resource" uuid,
	"parent" varchar(64),
	"family" uuid NOT NULL,
	"offline" boolean DEFAULT false NOT NULL,
	"user_code_hash" varchar(64),
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"consumed_at" timestamp (3) with time zone,
	"polled_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "signing_keys" DROP CONSTRAINT "signing_keys_algorithm_check";--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "amr" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "oauth_grants" ADD CONSTRAINT "oauth_grants_user_users_id_fk" FOREIGN KEY ("user") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "oauth_grants" ADD CONSTRAINT "oauth_grants_registered_client_clients_id_fk" FOREIGN KEY ("registered_client") REFERENCES "public"."clients"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "oauth_records" ADD CONSTRAINT "oauth_records_registered_client_clients_id_fk" FOREIGN KEY ("registered_client") REFERENCES "public"."clients"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "oauth_records" ADD CONSTRAINT "oauth_records_user_users_id_fk" FOREIGN KEY ("user") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "oauth_records" ADD CONSTRAINT "oauth_records_session_sessions_id_fk" FOREIGN KEY ("session") REFERENCES "public"."sessions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "oauth_records" ADD CONSTRAINT "oauth_records_grant_oauth_grants_id_fk" FOREIGN KEY ("grant") REFERENCES "public"."oauth_grants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "oauth_records" ADD CONSTRAINT "oauth_records_resource_resources_id_fk" FOREIGN KEY ("resource") REFERENCES "public"."resources"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "oauth_records" ADD CONSTRAINT "oauth_records_parent_oauth_records_hash_fk" FOREIGN KEY ("parent") REFERENCES "public"."oauth_records"("hash") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "oauth_grants_user_client_unique" ON "oauth_grants" USING btree ("user","client");--> statement-breakpoint
CREATE INDEX "oauth_grants_registered_client_index" ON "oauth_grants" USING btree ("registered_client");--> statement-breakpoint
CREATE UNIQUE INDEX "oauth_records_user_code_hash_unique" ON "oauth_records" USING btree ("user_code_hash");--> statement-breakpoint
CREATE INDEX "oauth_records_family_index" ON "oauth_records" USING btree ("family");--> statement-breakpoint
CREATE INDEX "oauth_records_session_index" ON "oauth_records" USING btree ("session");--> statement-breakpoint
CREATE INDEX "oauth_records_grant_index" ON "oauth_records" USING btree ("grant");--> statement-breakpoint
CREATE INDEX "oauth_records_user_index" ON "oauth_records" USING btree ("user");--> statement-breakpoint
CREATE INDEX "oauth_records_registered_client_index" ON "oauth_records" USING btree ("registered_client");--> statement-breakpoint
CREATE INDEX "oauth_records_resource_index" ON "oauth_records" USING btree ("resource");--> statement-breakpoint
CREATE INDEX "oauth_records_parent_index" ON "oauth_records" USING btree ("parent");--> statement-breakpoint
CREATE INDEX "oauth_records_expires_at_index" ON "oauth_records" USING btree ("expires_at");--> statement-breakpoint
ALTER TABLE "signing_keys" ADD CONSTRAINT "signing_keys_algorithm_check" CHECK ("signing_keys"."algorithm" in ('EdDSA', 'ES256', 'RS256'));