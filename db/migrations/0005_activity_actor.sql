-- Works with builds since 0000_initial.
ALTER TABLE "activity" ADD COLUMN "actor" uuid;