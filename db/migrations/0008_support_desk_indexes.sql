-- Works with builds since 0000_initial.
DROP INDEX "activity_user_index";--> statement-breakpoint
DROP INDEX "activity_item_index";--> statement-breakpoint
DROP INDEX "login_attempts_account_index";--> statement-breakpoint
CREATE INDEX "activity_failed_logins_index" ON "activity" USING btree ("item","id") WHERE "activity"."action" = 'login' and "activity"."outcome" = 'failure';--> statement-breakpoint
CREATE INDEX "activity_user_index" ON "activity" USING btree ("user","id");--> statement-breakpoint
CREATE INDEX "activity_item_index" ON "activity" USING btree ("item","id");--> statement-breakpoint
CREATE INDEX "login_attempts_account_index" ON "login_attempts" USING btree ("account","locked_until");