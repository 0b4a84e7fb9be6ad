-- The password and names of these were copied to "registrations" by 0008_own_account. Nobody has shown yet that the address is theirs.
UPDATE "users" SET "password" = NULL, "first_name" = NULL, "last_name" = NULL
	WHERE "status" = 'unverified' AND "id" IN (SELECT "user" FROM "registrations");
