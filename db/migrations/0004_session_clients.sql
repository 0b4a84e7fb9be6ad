-- Works with builds since 0000_initial.
CREATE TABLE "session_clients" (
	"sid" uuid NOT NULL,
	"client" uuid NOT NULL,
	"user" uuid NOT NULL,
	"session" uuid,
	CONSTRAINT "session_clients_sid_client_pk" PRIMARY KEY("sid","client")
);
--> statement-breakpoint
ALTER TABLE "session_clients" ADD CONSTRAINT "session_clients_client_clients_id_fk" FOREIGN KEY ("client") REFERENCES "public"."clients"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "session_clients" ADD CONSTRAINT "session_clients_session_sessions_id_fk" FOREIGN KEY ("session") REFERENCES "public"."sessions"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "session_clients_session_index" ON "session_clients" USING btree ("session");--> statement-breakpoint
CREATE INDEX "session_clients_client_index" ON "session_clients" USING btree ("client");