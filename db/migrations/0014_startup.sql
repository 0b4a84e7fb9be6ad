CREATE TABLE "migration_compatibility" (
	"created_at" bigint PRIMARY KEY NOT NULL,
	"tag" text NOT NULL,
	"works_with" text
);
--> statement-breakpoint
CREATE TABLE "secret_check" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"value" varchar(64) NOT NULL,
	CONSTRAINT "secret_check_single_row" CHECK ("secret_check"."id" = 1)
);
