CREATE TABLE "activity" (
	"id" uuid PRIMARY KEY NOT NULL,
	"timestamp" timestamp (3) with time zone NOT NULL,
	"action" varchar(32) NOT NULL,
	"outcome" varchar(16) NOT NULL,
	"code" varchar(32),
	"reason" varchar(32),
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
CREATE TABLE "email_changes" (
	"user" uuid PRIMARY KEY NOT NULL,
	"id" uuid DEFAULT gen_random_uuid() NOT NULL,
	"email" varchar(128) NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "email_codes" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"user" uuid NOT NULL,
	"purpose" varchar(16) NOT NULL,
	"code_hash" varchar(64) NOT NULL,
	"token_hash" varchar(64),
	"binding_hash" varchar(64) NOT NULL,
	"attempts_left" integer NOT NULL,
	"redirect" varchar(255),
	"used_links" integer NOT NULL,
	"requested_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "email_codes_purpose_check" CHECK ("email_codes"."purpose" in ('login', 'reauthentication'))
);
--> statement-breakpoint
CREATE TABLE "identities" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"user" uuid NOT NULL,
	"provider" varchar(128) NOT NULL,
	"identifier" varchar(255) NOT NULL,
	"email" text,
	"is_primary" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_used_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "known_networks" (
	"user" uuid NOT NULL,
	"network" varchar(45) NOT NULL,
	"last_login_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "known_networks_user_network_pk" PRIMARY KEY("user","network")
);
--> statement-breakpoint
CREATE TABLE "login_attempts" (
	"key" varchar(64) PRIMARY KEY NOT NULL,
	"account" varchar(64) NOT NULL,
	"failures" integer NOT NULL,
	"locked_until" timestamp (3) with time zone,
	"last_attempt_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
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
CREATE TABLE "migration_compatibility" (
	"created_at" bigint PRIMARY KEY NOT NULL,
	"tag" text NOT NULL,
	"works_with" text
);
--> statement-breakpoint
CREATE TABLE "passkeys" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"user" uuid NOT NULL,
	"credential_id" varchar(1364) NOT NULL,
	"public_key" text NOT NULL,
	"counter" bigint NOT NULL,
	"transports" jsonb NOT NULL,
	"backup_eligible" boolean NOT NULL,
	"backed_up" boolean NOT NULL,
	"aaguid" uuid NOT NULL,
	"name" varchar(100) NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "permissions" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "permissions_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"policy" uuid NOT NULL,
	"collection" varchar(64) NOT NULL,
	"action" varchar(16) NOT NULL,
	"permissions" jsonb,
	"validation" jsonb,
	"presets" jsonb,
	"fields" jsonb,
	CONSTRAINT "permissions_action_check" CHECK ("permissions"."action" in ('create', 'read', 'update', 'delete'))
);
--> statement-breakpoint
CREATE TABLE "policies" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"name" varchar(100) NOT NULL,
	"icon" varchar(64),
	"description" text,
	"ip_access" jsonb,
	"enforce_tfa" boolean DEFAULT false NOT NULL,
	"admin_access" boolean DEFAULT false NOT NULL,
	"app_access" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE TABLE "recovery_codes" (
	"user" uuid NOT NULL,
	"hash" varchar(64) NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "recovery_codes_user_hash_pk" PRIMARY KEY("user","hash")
);
--> statement-breakpoint
CREATE TABLE "registrations" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"user" uuid NOT NULL,
	"password" text NOT NULL,
	"first_name" varchar(50),
	"last_name" varchar(50),
	"browser_hash" varchar(64),
	"url" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "role_policies" (
	"role" uuid NOT NULL,
	"policy" uuid NOT NULL,
	CONSTRAINT "role_policies_role_policy_pk" PRIMARY KEY("role","policy")
);
--> statement-breakpoint
CREATE TABLE "roles" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"name" varchar(100) NOT NULL,
	"icon" varchar(64),
	"description" text,
	"parent" uuid
);
--> statement-breakpoint
CREATE TABLE "secret_check" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"value" varchar(64) NOT NULL,
	CONSTRAINT "secret_check_single_row" CHECK ("secret_check"."id" = 1)
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"user" uuid NOT NULL,
	"token_hash" varchar(64),
	"generation" integer DEFAULT 0 NOT NULL,
	"replaced_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"authenticated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_used_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"expires_on" date GENERATED ALWAYS AS ((expires_at at time zone 'UTC')::date) STORED,
	"ip" varchar(45),
	"user_agent" varchar(255),
	"verified_by_passkey" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE TABLE "settings" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"project_name" varchar(100) DEFAULT 'Gatehouse' NOT NULL,
	"project_color" varchar(50),
	"project_logo" text,
	"default_language" varchar(255) DEFAULT 'en-US' NOT NULL,
	"public_registration" boolean DEFAULT false NOT NULL,
	"public_registration_verify_email" boolean DEFAULT true NOT NULL,
	"public_registration_role" uuid,
	"public_registration_email_filter" jsonb,
	"public_policy" uuid,
	"auth_password_policy" text,
	"auth_login_attempts" integer DEFAULT 25,
	"self_service" boolean DEFAULT true NOT NULL,
	"self_deletion" boolean DEFAULT false NOT NULL,
	"email_login" boolean DEFAULT false NOT NULL,
	CONSTRAINT "settings_single_row" CHECK ("settings"."id" = 1)
);
--> statement-breakpoint
CREATE TABLE "signing_keys" (
	"kid" varchar(43) PRIMARY KEY NOT NULL,
	"algorithm" varchar(16) NOT NULL,
	"private_key" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"signs_from" timestamp (3) with time zone NOT NULL,
	"needed_until" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "signing_keys_algorithm_check" CHECK ("signing_keys"."algorithm" in ('EdDSA', 'ES256'))
);
--> statement-breakpoint
CREATE TABLE "spent_states" (
	"id" varchar(64) PRIMARY KEY NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "user_counts" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"change" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "user_policies" (
	"user" uuid NOT NULL,
	"policy" uuid NOT NULL,
	CONSTRAINT "user_policies_user_policy_pk" PRIMARY KEY("user","policy")
);
--> statement-breakpoint
CREATE TABLE "user_uses" (
	"user" uuid PRIMARY KEY NOT NULL,
	"last_access" timestamp (3) with time zone,
	"last_access_hour" timestamp (0) GENERATED ALWAYS AS (date_trunc('hour', last_access at time zone 'UTC')) STORED,
	"never_used" uuid GENERATED ALWAYS AS (case when last_access is null then "user" end) STORED,
	"devices" text[]
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"first_name" varchar(50),
	"last_name" varchar(50),
	"email" varchar(128),
	"email_verified_at" timestamp (3) with time zone,
	"password" text,
	"location" varchar(255),
	"title" varchar(50),
	"description" text,
	"tags" jsonb,
	"avatar" varchar(255),
	"language" varchar(255),
	"tfa_secret" text,
	"tfa_last_step" integer,
	"tfa_failures" integer DEFAULT 0 NOT NULL,
	"tfa_locked_until" timestamp (3) with time zone,
	"status" varchar(16) DEFAULT 'active' NOT NULL,
	"from_registration" boolean DEFAULT false NOT NULL,
	"used_links" integer DEFAULT 0 NOT NULL,
	"role" uuid,
	"token_hash" varchar(64),
	"token_set_at" timestamp (3) with time zone,
	"last_page" varchar(255),
	"provider" varchar(128) DEFAULT 'default' NOT NULL,
	"external_identifier" varchar(255),
	"auth_data" jsonb,
	"email_notifications" boolean DEFAULT true NOT NULL,
	"appearance" varchar(255),
	"theme_dark" varchar(255),
	"theme_light" varchar(255),
	"theme_light_overrides" jsonb,
	"theme_dark_overrides" jsonb,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "users_status_check" CHECK ("users"."status" in ('draft', 'invited', 'unverified', 'active', 'suspended', 'archived'))
);
--> statement-breakpoint
ALTER TABLE "email_changes" ADD CONSTRAINT "email_changes_user_users_id_fk" FOREIGN KEY ("user") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "email_codes" ADD CONSTRAINT "email_codes_user_users_id_fk" FOREIGN KEY ("user") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "identities" ADD CONSTRAINT "identities_user_users_id_fk" FOREIGN KEY ("user") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "known_networks" ADD CONSTRAINT "known_networks_user_users_id_fk" FOREIGN KEY ("user") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "passkeys" ADD CONSTRAINT "passkeys_user_users_id_fk" FOREIGN KEY ("user") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "permissions" ADD CONSTRAINT "permissions_policy_policies_id_fk" FOREIGN KEY ("policy") REFERENCES "public"."policies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "recovery_codes" ADD CONSTRAINT "recovery_codes_user_users_id_fk" FOREIGN KEY ("user") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "registrations" ADD CONSTRAINT "registrations_user_users_id_fk" FOREIGN KEY ("user") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "role_policies" ADD CONSTRAINT "role_policies_role_roles_id_fk" FOREIGN KEY ("role") REFERENCES "public"."roles"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "role_policies" ADD CONSTRAINT "role_policies_policy_policies_id_fk" FOREIGN KEY ("policy") REFERENCES "public"."policies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "roles" ADD CONSTRAINT "roles_parent_roles_id_fk" FOREIGN KEY ("parent") REFERENCES "public"."roles"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_users_id_fk" FOREIGN KEY ("user") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "settings" ADD CONSTRAINT "settings_public_registration_role_roles_id_fk" FOREIGN KEY ("public_registration_role") REFERENCES "public"."roles"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "settings" ADD CONSTRAINT "settings_public_policy_policies_id_fk" FOREIGN KEY ("public_policy") REFERENCES "public"."policies"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_policies" ADD CONSTRAINT "user_policies_user_users_id_fk" FOREIGN KEY ("user") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_policies" ADD CONSTRAINT "user_policies_policy_policies_id_fk" FOREIGN KEY ("policy") REFERENCES "public"."policies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_uses" ADD CONSTRAINT "user_uses_user_users_id_fk" FOREIGN KEY ("user") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "users" ADD CONSTRAINT "users_role_roles_id_fk" FOREIGN KEY ("role") REFERENCES "public"."roles"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "activity_position_unique" ON "activity" USING btree ("position");--> statement-breakpoint
CREATE INDEX "activity_unlinked_index" ON "activity" USING btree ("id") WHERE "activity"."position" is null;--> statement-breakpoint
CREATE INDEX "activity_user_index" ON "activity" USING btree ("user");--> statement-breakpoint
CREATE INDEX "activity_item_index" ON "activity" USING btree ("item");--> statement-breakpoint
CREATE INDEX "activity_timestamp_index" ON "activity" USING btree ("timestamp");--> statement-breakpoint
CREATE INDEX "email_changes_expires_at_index" ON "email_changes" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "email_codes_binding_unique" ON "email_codes" USING btree ("user","purpose","binding_hash");--> statement-breakpoint
CREATE UNIQUE INDEX "email_codes_token_hash_unique" ON "email_codes" USING btree ("token_hash");--> statement-breakpoint
CREATE INDEX "email_codes_expires_at_index" ON "email_codes" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "identities_folded_identifier_index" ON "identities" USING btree ("provider",lower("identifier" collate "C"));--> statement-breakpoint
CREATE UNIQUE INDEX "identities_external_identifier_unique" ON "identities" USING btree ("provider","identifier");--> statement-breakpoint
CREATE UNIQUE INDEX "identities_primary_unique" ON "identities" USING btree ("user") WHERE "identities"."is_primary";--> statement-breakpoint
CREATE INDEX "identities_user_index" ON "identities" USING btree ("user");--> statement-breakpoint
CREATE INDEX "known_networks_last_login_at_index" ON "known_networks" USING btree ("last_login_at");--> statement-breakpoint
CREATE INDEX "login_attempts_last_attempt_at_index" ON "login_attempts" USING btree ("last_attempt_at");--> statement-breakpoint
CREATE INDEX "login_attempts_account_index" ON "login_attempts" USING btree ("account");--> statement-breakpoint
CREATE INDEX "mailbox_sent_at_index" ON "mailbox" USING btree ("sent_at");--> statement-breakpoint
CREATE UNIQUE INDEX "passkeys_credential_id_unique" ON "passkeys" USING btree ("credential_id");--> statement-breakpoint
CREATE INDEX "passkeys_user_index" ON "passkeys" USING btree ("user");--> statement-breakpoint
CREATE INDEX "permissions_policy_index" ON "permissions" USING btree ("policy");--> statement-breakpoint
CREATE INDEX "registrations_user_index" ON "registrations" USING btree ("user");--> statement-breakpoint
CREATE INDEX "registrations_expires_at_index" ON "registrations" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "role_policies_policy_index" ON "role_policies" USING btree ("policy");--> statement-breakpoint
CREATE INDEX "roles_parent_index" ON "roles" USING btree ("parent");--> statement-breakpoint
CREATE INDEX "sessions_user_index" ON "sessions" USING btree ("user");--> statement-breakpoint
CREATE INDEX "sessions_expires_on_index" ON "sessions" USING btree ("expires_on");--> statement-breakpoint
CREATE INDEX "spent_states_expires_at_index" ON "spent_states" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "user_policies_policy_index" ON "user_policies" USING btree ("policy");--> statement-breakpoint
CREATE INDEX "user_uses_order_index" ON "user_uses" USING btree ("last_access_hour" desc,"never_used");--> statement-breakpoint
CREATE UNIQUE INDEX "users_email_unique" ON "users" USING btree (lower("email" collate "C"));--> statement-breakpoint
CREATE UNIQUE INDEX "users_token_hash_unique" ON "users" USING btree ("token_hash");--> statement-breakpoint
CREATE UNIQUE INDEX "users_external_identifier_unique" ON "users" USING btree ("provider","external_identifier");--> statement-breakpoint
CREATE INDEX "users_role_index" ON "users" USING btree ("role");--> statement-breakpoint

-- Drizzle generated everything above from db/schema.ts. It cannot express what follows.


-- Free space in the pages of the rows that logins and refreshes update, so that the new version of a row is in the same page (a
-- heap-only tuple), and no index needs a new entry.

ALTER TABLE "sessions" SET (fillfactor = 45);--> statement-breakpoint
ALTER TABLE "user_uses" SET (fillfactor = 30);--> statement-breakpoint
ALTER TABLE "users" SET (fillfactor = 90);--> statement-breakpoint


-- The number of users, as the sum of the rows in "user_counts". The trigger functions in this file write to the schema of the table that
-- they belong to, whatever the search path of the session is.

CREATE FUNCTION count_users() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF tg_op = 'TRUNCATE' THEN
		-- Deleting the rows would keep those that concurrent transactions insert, and they count users that no longer exist.
		EXECUTE format('TRUNCATE %I.user_counts', tg_table_schema);
	ELSE
		EXECUTE format(
			'INSERT INTO %I.user_counts (change) SELECT %s count(*) FROM counted HAVING count(*) > 0',
			tg_table_schema, CASE tg_op WHEN 'DELETE' THEN '-' ELSE '' END
		);
	END IF;
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER users_added AFTER INSERT ON "users" REFERENCING NEW TABLE AS counted
	FOR EACH STATEMENT EXECUTE FUNCTION count_users();--> statement-breakpoint
CREATE TRIGGER users_removed AFTER DELETE ON "users" REFERENCING OLD TABLE AS counted
	FOR EACH STATEMENT EXECUTE FUNCTION count_users();--> statement-breakpoint
CREATE TRIGGER users_emptied AFTER TRUNCATE ON "users"
	FOR EACH STATEMENT EXECUTE FUNCTION count_users();--> statement-breakpoint


-- Each user has a row in "user_uses".

CREATE FUNCTION add_user_uses() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO %I.user_uses ("user") SELECT id FROM added', tg_table_schema);
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER users_add_uses AFTER INSERT ON "users" REFERENCING NEW TABLE AS added
	FOR EACH STATEMENT EXECUTE FUNCTION add_user_uses();--> statement-breakpoint


-- A link in an email is bound to "used_links". A change to one of these columns permanently voids the links that were sent before it, even
-- if the old value returns later.

CREATE FUNCTION void_links() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.used_links := OLD.used_links + 1;
	RETURN NEW;
END $$;--> statement-breakpoint
CREATE TRIGGER users_void_links BEFORE UPDATE OF "email", "password", "status", "provider" ON "users"
	FOR EACH ROW WHEN ((OLD.email, OLD.password, OLD.status, OLD.provider) IS DISTINCT FROM (NEW.email, NEW.password, NEW.status, NEW.provider))
	EXECUTE FUNCTION void_links();--> statement-breakpoint


-- Ends the sessions of a user that have been unused for the longest time, so that at most "most" remain, and "kept" is one of them. A
-- statement in a function sees what other transactions have committed since the statement that calls the function began. A login that had
-- to wait for other logins of the same user therefore also counts their sessions, although it is a single statement.

CREATE FUNCTION end_unused_sessions(owner uuid, kept uuid, most integer, at timestamp with time zone)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF (SELECT count(*) FROM sessions WHERE "user" = owner) > most THEN
		DELETE FROM sessions WHERE id IN (
			SELECT s.id FROM sessions s WHERE s."user" = owner AND s.id <> kept
			ORDER BY s.expires_at > at DESC, s.last_used_at DESC, s.created_at DESC, s.id OFFSET most - 1
		);
	END IF;
END $$;
