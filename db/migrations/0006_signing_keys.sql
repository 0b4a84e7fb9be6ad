CREATE TABLE "signing_keys" (
	"kid" varchar(43) PRIMARY KEY NOT NULL,
	"algorithm" varchar(16) NOT NULL,
	"private_key" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"signs_from" timestamp (3) with time zone NOT NULL,
	"needed_until" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "signing_keys_algorithm_check" CHECK ("signing_keys"."algorithm" in ('EdDSA', 'ES256'))
);
