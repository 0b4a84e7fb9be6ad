-- Works with builds since 0000_initial.
-- The default is only for new users: nobody knows when the others last changed.
ALTER TABLE "users" ADD COLUMN "profile_updated_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "users" ALTER COLUMN "profile_updated_at" SET DEFAULT now();--> statement-breakpoint


-- Dates the changes of what applications learn about a user, whichever build makes them.

CREATE FUNCTION date_profile() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.profile_updated_at := now();
	RETURN NEW;
END $$;--> statement-breakpoint
CREATE TRIGGER users_date_profile BEFORE UPDATE OF "first_name", "last_name", "email", "language", "avatar" ON "users"
	FOR EACH ROW WHEN ((OLD.first_name, OLD.last_name, OLD.email, OLD.language, OLD.avatar)
		IS DISTINCT FROM (NEW.first_name, NEW.last_name, NEW.email, NEW.language, NEW.avatar))
	EXECUTE FUNCTION date_profile();
