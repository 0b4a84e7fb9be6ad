CREATE TABLE "activity" (
	"id" uuid PRIMARY KEY NOT NULL,
	"timestamp" timestamp (3) with time zone NOT NULL,
	"action" varchar(32) NOT NULL,
	"outcome" varchar(16) NOT NULL,
	"code" varchar(32),
	"user" uuid,
	"collection" varchar(16),
	"item" varchar(64),
	"ip" varchar(45),
	"user_agent" varchar(255),
	"request_id" varchar(128),
	"changed" jsonb,
	"seal" varchar(64) NOT NULL,
	"position" bigint,
	"hash" varchar(64),
	CONSTRAINT "activity_outcome_check" CHECK ("activity"."outcome" in ('success', 'failure'))
);
--> statement-breakpoint
CREATE TABLE "activity_chain" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"first_position" bigint NOT NULL,
	"anchor_hash" varchar(64) NOT NULL,
	"head_position" bigint NOT NULL,
	"head_hash" varchar(64) NOT NULL,
	"seal" varchar(64) NOT NULL,
	CONSTRAINT "activity_chain_single_row" CHECK ("activity_chain"."id" = 1)
);
--> statement-breakpoint
CREATE UNIQUE INDEX "activity_position_unique" ON "activity" USING btree ("position");--> statement-breakpoint
CREATE INDEX "activity_unlinked_index" ON "activity" USING btree ("id") WHERE "activity"."position" is null;--> statement-breakpoint
CREATE INDEX "activity_user_index" ON "activity" USING btree ("user");--> statement-breakpoint
CREATE INDEX "activity_item_index" ON "activity" USING btree ("item");--> statement-breakpoint
CREATE INDEX "activity_timestamp_index" ON "activity" USING btree ("timestamp");