import { definePlugin } from '../../platform/plugin.js';
import { createSecurityNotices } from './service.js';
import { notifyOfSignIns } from './sign-ins.js';

/** Notifies users by email when their credentials change and of suspicious sign-ins, unless the configuration turns this off. */
export const securityNoticesPlugin = definePlugin('mail/security-notices', (services) => {
  const { config, activity } = services;
  if (!config.EMAIL_SECURITY_NOTICES) return;
  const notMeUrl = `${config.PUBLIC_URL}/account/not-me`;
  notifyOfSignIns(services, notMeUrl);
  activity.addListener(createSecurityNotices(services, notMeUrl));
});
