-- Works with builds since 0000_initial.
CREATE TABLE "client_secrets" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"client" uuid NOT NULL,
	"hash" varchar(64) NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "clients" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"name" varchar(100) NOT NULL,
	"logo_uri" text,
	"type" varchar(16) NOT NULL,
	"redirect_uris" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"post_logout_redirect_uris" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"allowed_origins" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"grant_types" jsonb DEFAULT '["authorization_code", "refresh_token"]'::jsonb NOT NULL,
	"scopes" jsonb,
	"resources" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"first_party" boolean DEFAULT false NOT NULL,
	"minimal_id_token" boolean DEFAULT false NOT NULL,
	"access_token_ttl" varchar(16),
	"refresh_token_ttl" varchar(16),
	"id_token_signed_response_alg" varchar(16) DEFAULT 'RS256' NOT NULL,
	"backchannel_logout_uri" text,
	"pkce_required" boolean DEFAULT true NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "clients_type_check" CHECK ("clients"."type" in ('public', 'confidential')),
	CONSTRAINT "clients_id_token_signed_response_alg_check" CHECK ("clients"."id_token_signed_response_alg" in ('RS256', 'ES256', 'EdDSA'))
);
--> statement-breakpoint
CREATE TABLE "resources" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"identifier" varchar(255) NOT NULL,
	"name" varchar(100) NOT NULL,
	"scopes" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"access_token_ttl" varchar(16) DEFAULT '10m' NOT NULL,
	"open_to_unregistered" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "settings" ADD COLUMN "unregistered_clients" varchar(16) DEFAULT 'off' NOT NULL;--> statement-breakpoint
ALTER TABLE "settings" ADD COLUMN "unregistered_client_hosts" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "client_secrets" ADD CONSTRAINT "client_secrets_client_clients_id_fk" FOREIGN KEY ("client") REFERENCES "public"."clients"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "client_secrets_client_index" ON "client_secrets" USING btree ("client");--> statement-breakpoint
CREATE UNIQUE INDEX "resources_identifier_unique" ON "resources" USING btree ("identifier");--> statement-breakpoint
ALTER TABLE "settings" ADD CONSTRAINT "settings_unregistered_clients_check" CHECK ("settings"."unregistered_clients" in ('off', 'listed', 'any'));--> statement-breakpoint


-- The lists of resources in "clients" contain identifiers. When a resource gets another identifier or is deleted, they change with it. The
-- function writes to the schema of the table that the trigger belongs to.

CREATE FUNCTION update_client_resources() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF tg_op = 'DELETE' THEN
		EXECUTE format('UPDATE %I.clients SET resources = resources - $1 WHERE resources @> to_jsonb($1)', tg_table_schema)
			USING OLD.identifier::text;
	ELSE
		EXECUTE format(
			'UPDATE %I.clients SET resources = (
				SELECT jsonb_agg(CASE item WHEN $1 THEN $2 ELSE item END ORDER BY position)
				FROM jsonb_array_elements_text(resources) WITH ORDINALITY AS listed(item, position)
			) WHERE resources @> to_jsonb($1)',
			tg_table_schema
		) USING OLD.identifier::text, NEW.identifier::text;
	END IF;
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER resources_renamed AFTER UPDATE OF "identifier" ON "resources"
	FOR EACH ROW WHEN (OLD.identifier IS DISTINCT FROM NEW.identifier)
	EXECUTE FUNCTION update_client_resources();--> statement-breakpoint
CREATE TRIGGER resources_deleted AFTER DELETE ON "resources"
	FOR EACH ROW EXECUTE FUNCTION update_client_resources();
