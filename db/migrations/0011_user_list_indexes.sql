-- Works with builds since 0000_initial.
DROP INDEX "user_policies_policy_index";--> statement-breakpoint
DROP INDEX "users_role_index";--> statement-breakpoint
CREATE INDEX "users_status_index" ON "users" USING btree ("status","id");--> statement-breakpoint
CREATE INDEX "user_policies_policy_index" ON "user_policies" USING btree ("policy","user");--> statement-breakpoint
CREATE INDEX "users_role_index" ON "users" USING btree ("role","id");