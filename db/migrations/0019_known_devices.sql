-- Works with builds since 0018_passkeys.
-- They record no devices.
ALTER TABLE "user_uses" ADD COLUMN "devices" text[];