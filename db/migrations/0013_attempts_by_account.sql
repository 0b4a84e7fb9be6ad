ALTER TABLE "login_attempts" ADD COLUMN "account" varchar(64);--> statement-breakpoint
CREATE INDEX "login_attempts_account_index" ON "login_attempts" USING btree ("account");