/** Milliseconds. A login sends several requests to the provider in sequence, and each can take up to AUTH_PROVIDER_TIMEOUT. */
export const providerTimeoutMs = 60_000;
