CREATE TABLE "known_networks" (
	"user" uuid NOT NULL,
	"network" varchar(45) NOT NULL,
	"last_login_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "known_networks_user_network_pk" PRIMARY KEY("user","network")
);
--> statement-breakpoint
CREATE TABLE "login_attempts" (
	"key" varchar(64) PRIMARY KEY NOT NULL,
	"failures" integer NOT NULL,
	"locked_until" timestamp (3) with time zone,
	"last_attempt_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "known_networks" ADD CONSTRAINT "known_networks_user_users_id_fk" FOREIGN KEY ("user") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "known_networks_last_login_at_index" ON "known_networks" USING btree ("last_login_at");--> statement-breakpoint
CREATE INDEX "login_attempts_last_attempt_at_index" ON "login_attempts" USING btree ("last_attempt_at");