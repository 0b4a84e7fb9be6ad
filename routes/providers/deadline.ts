/** A login asks its provider for several things, one after the other, and each may take AUTH_PROVIDER_TIMEOUT. Milliseconds. */
export const deadlineOfProviders = 60_000;
