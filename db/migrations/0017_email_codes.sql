CREATE TABLE "email_codes" (
	"user" uuid NOT NULL,
	"purpose" varchar(16) NOT NULL,
	"id" uuid DEFAULT gen_random_uuid() NOT NULL,
	"code_hash" varchar(64) NOT NULL,
	"token_hash" varchar(64),
	"binding_hash" varchar(64) NOT NULL,
	"attempts_left" integer NOT NULL,
	"used_links" integer NOT NULL,
	"requested_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "email_codes_user_purpose_pk" PRIMARY KEY("user","purpose"),
	CONSTRAINT "email_codes_purpose_check" CHECK ("email_codes"."purpose" in ('login', 'reauthentication'))
);
--> statement-breakpoint
ALTER TABLE "settings" ADD COLUMN "email_login" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "email_codes" ADD CONSTRAINT "email_codes_user_users_id_fk" FOREIGN KEY ("user") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "email_codes_token_hash_unique" ON "email_codes" USING btree ("token_hash");--> statement-breakpoint
CREATE INDEX "email_codes_expires_at_index" ON "email_codes" USING btree ("expires_at");