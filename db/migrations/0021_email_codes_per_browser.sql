-- Works with builds since 0019_known_devices.
-- They cannot store a request for a code, because they expect one per user. Its email waits until a newer build sends it.
ALTER TABLE "email_codes" DROP CONSTRAINT "email_codes_user_purpose_pk";--> statement-breakpoint
ALTER TABLE "email_codes" ADD PRIMARY KEY ("id");--> statement-breakpoint
ALTER TABLE "email_codes" ADD COLUMN "redirect" varchar(255);--> statement-breakpoint
CREATE UNIQUE INDEX "email_codes_binding_unique" ON "email_codes" USING btree ("user","purpose","binding_hash");
