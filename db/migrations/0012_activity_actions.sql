-- Works with builds since 0000_initial.
CREATE INDEX "activity_action_index" ON "activity" USING btree ("action","timestamp");