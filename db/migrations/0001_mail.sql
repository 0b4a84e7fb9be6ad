CREATE TABLE "mailbox" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"sent_at" timestamp (3) with time zone NOT NULL,
	"recipient" text NOT NULL,
	"subject" text NOT NULL,
	"html" text NOT NULL,
	"text" text NOT NULL,
	"language" varchar(35) NOT NULL,
	"message_id" text NOT NULL,
	CONSTRAINT "mailbox_message_id_unique" UNIQUE("message_id")
);
--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "used_links" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "mailbox_sent_at_index" ON "mailbox" USING btree ("sent_at");