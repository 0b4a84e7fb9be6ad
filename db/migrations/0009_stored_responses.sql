-- Works with builds since 0000_initial.
CREATE TABLE "stored_responses" (
	"user" uuid NOT NULL,
	"key" varchar(64) NOT NULL,
	"response" text NOT NULL,
	"size" integer NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "stored_responses_user_key_pk" PRIMARY KEY("user","key")
);
--> statement-breakpoint
ALTER TABLE "stored_responses" ADD CONSTRAINT "stored_responses_user_users_id_fk" FOREIGN KEY ("user") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action DEFERRABLE INITIALLY DEFERRED;--> statement-breakpoint
CREATE INDEX "stored_responses_user_expires_at_index" ON "stored_responses" USING btree ("user","expires_at","size");--> statement-breakpoint
CREATE INDEX "stored_responses_expires_at_index" ON "stored_responses" USING btree ("expires_at");