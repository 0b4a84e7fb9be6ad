/** For tests that log in often: cheap hashing that may have to wait, because a slow machine would otherwise refuse logins. */
export const cheapHashing = { PASSWORD_HASH_MEMORY: '8192', PASSWORD_HASH_TIME: '1', PASSWORD_HASH_MAX_WAIT: '1h' };

/** Disables the limits on requests and emails, for tests that send many requests. */
export const noLimits = {
  RATE_LIMITER_ENABLED: 'false',
  RATE_LIMITER_REGISTRATION_ENABLED: 'false',
  RATE_LIMITER_MAIL_ENABLED: 'false',
};
