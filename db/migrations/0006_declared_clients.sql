-- Works with builds since 0000_initial.
ALTER TABLE "clients" ADD COLUMN "declared" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "resources" ADD COLUMN "declared" boolean DEFAULT false NOT NULL;
