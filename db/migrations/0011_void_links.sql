-- A link in an email is bound to `used_links`. Whatever writes one of these columns voids the links that were sent before, for
-- good: also when the old value comes back later.
CREATE FUNCTION void_links() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.used_links := OLD.used_links + 1;
	RETURN NEW;
END $$;--> statement-breakpoint
CREATE TRIGGER users_void_links BEFORE UPDATE OF "email", "password", "status", "provider" ON "users"
	FOR EACH ROW WHEN ((OLD.email, OLD.password, OLD.status, OLD.provider) IS DISTINCT FROM (NEW.email, NEW.password, NEW.status, NEW.provider))
	EXECUTE FUNCTION void_links();
