/** Milliseconds. A login sends several requests to the provider in sequence, and each can take up to AUTH_PROVIDER_TIMEOUT. */
export const deadlineOfProviders = 60_000;
