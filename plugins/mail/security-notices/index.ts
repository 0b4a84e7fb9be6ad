import plugin from 'fastify-plugin';
import { createSecurityNotices } from './service.js';
import { notifyOfSignIns } from './sign-ins.js';

/** Notifies users by email when their credentials change and of suspicious sign-ins, unless the configuration turns this off. */
export const securityNoticesPlugin = plugin(
  async (app) => {
    const { config, db, clock, mail, activity } = app;
    if (!config.EMAIL_SECURITY_NOTICES) return;
    const notMeUrl = `${config.PUBLIC_URL}/account/not-me`;
    notifyOfSignIns({ db, clock, mail, activity, notMeUrl });
    const labels = new Map(config.PROVIDERS.map(({ key, LABEL }) => [key, LABEL ?? key]));
    activity.addListener(
      createSecurityNotices({
        clock,
        mail,
        labelOf: (provider) => labels.get(provider) ?? provider,
        notMeUrl,
      }),
    );
  },
  { name: 'security-notices', dependencies: ['config', 'database', 'clock', 'activity', 'mail'] },
);
