-- Works with builds since 0000_initial.
DROP INDEX "users_invited_index";--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "invite_expires_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "users_invites_index" ON "users" USING btree ("invite_expires_at","id") WHERE "users"."status" = 'invited';--> statement-breakpoint


-- How long earlier invitations are valid is only in their emails. This assumes the default lifetime.
UPDATE "users" SET "invite_expires_at" = "created_at" + interval '7 days' WHERE "status" = 'invited';--> statement-breakpoint


-- A change that voids the links in emails voids the invitation.

CREATE OR REPLACE FUNCTION void_links() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.used_links := OLD.used_links + 1;
	NEW.invite_expires_at := NULL;
	RETURN NEW;
END $$;
