-- Works with builds since 0019_known_devices.
-- Rows of registrations that they create are not marked, so they reserve their address, as before.
ALTER TABLE "users" ADD COLUMN "from_registration" boolean DEFAULT false NOT NULL;--> statement-breakpoint
-- Rows that a registration created, and that no one has changed since, as far as the audit log shows.
UPDATE "users" u SET "from_registration" = true
	WHERE u."status" = 'unverified' AND u."used_links" = 0 AND u."password" IS NULL AND u."provider" = 'default'
	AND EXISTS (
		SELECT FROM "activity" a WHERE a."item" = u."id"::text AND a."collection" = 'users' AND a."action" = 'register'
			AND a."outcome" = 'success'
	) AND NOT EXISTS (
		SELECT FROM "activity" a WHERE a."item" = u."id"::text AND a."collection" = 'users' AND a."outcome" = 'success'
			AND a."action" NOT IN ('register', 'verification_resend', 'password_reset_request')
	);--> statement-breakpoint
-- Their last registration has expired.
DELETE FROM "users" u WHERE u."from_registration" AND NOT EXISTS (SELECT FROM "registrations" r WHERE r."user" = u."id");
