-- Works with builds since 0013_attempts_by_account.
-- They write no reason. Their `audit:verify` reports rows with a reason as altered, because they do not include it in the signature.
ALTER TABLE "activity" ADD COLUMN "reason" varchar(32);
