import plugin from 'fastify-plugin';
import { createSecurityNotices } from './service.js';

/** Notifies users by email when their credentials change, unless the configuration turns this off. */
export const securityNoticesPlugin = plugin(
  async (app) => {
    const { config, clock, mail, rateLimits, activity } = app;
    if (!config.EMAIL_SECURITY_NOTICES) return;
    const labels = new Map(config.PROVIDERS.map(({ key, LABEL }) => [key, LABEL ?? key]));
    activity.onRecord(
      createSecurityNotices({
        clock,
        mail,
        rateLimits,
        labelOf: (provider) => labels.get(provider) ?? provider,
        resetUrl: config.AUTH_DISABLE_DEFAULT ? null : `${config.PUBLIC_URL}/account/forgot-password`,
        onTooMany: () => app.log.info('a security notice was not sent: there were too many'),
      }),
    );
  },
  { name: 'security-notices', dependencies: ['config', 'clock', 'rate-limits', 'activity', 'mail'] },
);
