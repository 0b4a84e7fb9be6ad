-- No two rows differ in letter case only, so all of them fit into indexes that compare exactly. What is stored is left as it is.
DROP INDEX "identities_external_identifier_unique";--> statement-breakpoint
DROP INDEX "users_external_identifier_unique";--> statement-breakpoint
CREATE INDEX "identities_folded_identifier_index" ON "identities" USING btree ("provider",lower("identifier" collate "C"));--> statement-breakpoint
CREATE UNIQUE INDEX "identities_external_identifier_unique" ON "identities" USING btree ("provider","identifier");--> statement-breakpoint
CREATE UNIQUE INDEX "users_external_identifier_unique" ON "users" USING btree ("provider","external_identifier");