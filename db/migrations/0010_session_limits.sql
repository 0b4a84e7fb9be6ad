ALTER TABLE "sessions" ADD COLUMN "replaced_at" timestamp (3) with time zone;--> statement-breakpoint
UPDATE "sessions" SET "replaced_at" = "recent_rotations"[cardinality("recent_rotations")] WHERE "generation" > 0;--> statement-breakpoint
ALTER TABLE "sessions" DROP COLUMN "recent_rotations";--> statement-breakpoint
-- Ends those sessions of a user that have been unused for the longest time, so that with "kept" there are at most "most".
-- A statement in a function sees what others have committed since the statement around it began. So a login that had to wait
-- for others of the same user counts their sessions too, although it is one statement.
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
