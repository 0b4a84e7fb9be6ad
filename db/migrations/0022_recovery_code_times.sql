-- Works with builds since 0021_email_codes_per_browser.
-- They do not remove recovery codes with a password reset. The default applies only to new codes: for older ones, the time is not known.
ALTER TABLE "recovery_codes" ADD COLUMN "created_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "recovery_codes" ALTER COLUMN "created_at" SET DEFAULT now();
