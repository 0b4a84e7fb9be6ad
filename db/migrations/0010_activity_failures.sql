-- Works with builds since 0000_initial.
CREATE INDEX "activity_failures_index" ON "activity" USING btree ("id") WHERE "activity"."outcome" = 'failure' and "activity"."user" is not null;