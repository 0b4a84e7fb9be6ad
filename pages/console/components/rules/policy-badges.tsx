import { t } from '../../texts.js';
import { Badge } from '../badge.js';
import type { PolicyOptions } from './sentence.js';

/** The options of a policy that are on. */
export const PolicyBadges = ({ policy }: { policy: PolicyOptions }) => (
  <span class="badges">
    {policy.admin_access && <Badge tone="warning">{t('policy_admin')}</Badge>}
    {policy.app_access && <Badge>{t('policy_app')}</Badge>}
    {policy.enforce_tfa && <Badge tone="accent">{t('policy_tfa')}</Badge>}
    {policy.ip_access && policy.ip_access.length > 0 && <Badge tone="accent">{t('policy_ip')}</Badge>}
  </span>
);
