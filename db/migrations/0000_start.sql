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
CREATE TABLE "sessions" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"user" uuid NOT NULL,
	"token_hash" varchar(64),
	"generation" integer DEFAULT 0 NOT NULL,
	"recent_rotations" timestamp (3) with time zone[] DEFAULT '{}' NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"ip" varchar(45),
	"user_agent" varchar(255)
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
	CONSTRAINT "settings_single_row" CHECK ("settings"."id" = 1)
);
--> statement-breakpoint
CREATE TABLE "user_policies" (
	"user" uuid NOT NULL,
	"policy" uuid NOT NULL,
	CONSTRAINT "user_policies_user_policy_pk" PRIMARY KEY("user","policy")
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"first_name" varchar(50),
	"last_name" varchar(50),
	"email" varchar(128),
	"password" text,
	"location" varchar(255),
	"title" varchar(50),
	"description" text,
	"tags" jsonb,
	"avatar" uuid,
	"language" varchar(255),
	"tfa_secret" text,
	"tfa_last_step" integer,
	"status" varchar(16) DEFAULT 'active' NOT NULL,
	"role" uuid,
	"token_hash" varchar(64),
	"last_access" timestamp (3) with time zone,
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
	CONSTRAINT "users_status_check" CHECK ("users"."status" in ('draft', 'invited', 'unverified', 'active', 'suspended', 'archived'))
);
--> statement-breakpoint
ALTER TABLE "permissions" ADD CONSTRAINT "permissions_policy_policies_id_fk" FOREIGN KEY ("policy") REFERENCES "public"."policies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "role_policies" ADD CONSTRAINT "role_policies_role_roles_id_fk" FOREIGN KEY ("role") REFERENCES "public"."roles"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "role_policies" ADD CONSTRAINT "role_policies_policy_policies_id_fk" FOREIGN KEY ("policy") REFERENCES "public"."policies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "roles" ADD CONSTRAINT "roles_parent_roles_id_fk" FOREIGN KEY ("parent") REFERENCES "public"."roles"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_users_id_fk" FOREIGN KEY ("user") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "settings" ADD CONSTRAINT "settings_public_registration_role_roles_id_fk" FOREIGN KEY ("public_registration_role") REFERENCES "public"."roles"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "settings" ADD CONSTRAINT "settings_public_policy_policies_id_fk" FOREIGN KEY ("public_policy") REFERENCES "public"."policies"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_policies" ADD CONSTRAINT "user_policies_user_users_id_fk" FOREIGN KEY ("user") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_policies" ADD CONSTRAINT "user_policies_policy_policies_id_fk" FOREIGN KEY ("policy") REFERENCES "public"."policies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "users" ADD CONSTRAINT "users_role_roles_id_fk" FOREIGN KEY ("role") REFERENCES "public"."roles"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "permissions_policy_index" ON "permissions" USING btree ("policy");--> statement-breakpoint
CREATE INDEX "role_policies_policy_index" ON "role_policies" USING btree ("policy");--> statement-breakpoint
CREATE INDEX "roles_parent_index" ON "roles" USING btree ("parent");--> statement-breakpoint
CREATE INDEX "sessions_user_index" ON "sessions" USING btree ("user");--> statement-breakpoint
CREATE INDEX "sessions_expires_at_index" ON "sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "user_policies_policy_index" ON "user_policies" USING btree ("policy");--> statement-breakpoint
CREATE UNIQUE INDEX "users_email_unique" ON "users" USING btree (lower("email" collate "C"));--> statement-breakpoint
CREATE UNIQUE INDEX "users_token_hash_unique" ON "users" USING btree ("token_hash");--> statement-breakpoint
CREATE UNIQUE INDEX "users_external_identifier_unique" ON "users" USING btree ("provider",lower("external_identifier"));--> statement-breakpoint
CREATE INDEX "users_role_index" ON "users" USING btree ("role");