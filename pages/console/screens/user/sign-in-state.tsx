import type { ComponentChildren } from 'preact';
import { Link } from 'wouter-preact';
import { useAccess } from '../../app/access.js';
import { Button } from '../../components/button.js';
import { Icon } from '../../components/icon.js';
import { Card } from '../../components/layout.js';
import { Ago, Time } from '../../components/time.js';
import { choiceText, reasonText, t, textIfAny } from '../../texts.js';
import { type Help, helpFor } from './help.js';
import type { PartProps } from './index.js';

/** What may keep the user from signing in, and what helps. */
export function SignInState(props: PartProps) {
  const { user } = props;
  const access = useAccess();
  const { reset, resend, unlock, activate } = helpFor(access, props);
  const { locked_until: lockedUntil, has_password: hasPassword, provider, status } = user;
  // A lock is shown only while it lasts, and the status is shown anyway.
  const reason = user.last_failure?.reason ?? undefined;
  const failure = reason !== undefined && ['locked', status].includes(reason) ? undefined : user.last_failure;
  const helpWithStatus = status === 'active' ? undefined : textIfAny(`user_help_${status}`);
  const lacksPassword = hasPassword === false && provider === 'default' && status === 'active';
  if (!failure && !lockedUntil && !lacksPassword && !helpWithStatus) return null;
  return (
    <Card title={t('user_sign_in_state')}>
      {status && helpWithStatus && (
        <Obstacle
          title={choiceText(status)}
          help={helpWithStatus}
          action={status === 'invited' ? resend : status === 'suspended' && activate}
        />
      )}
      {lockedUntil && (
        <Obstacle title={t('user_locked')} help={t('user_help_locked')} action={unlock}>
          {t('user_locked_until')} <Time time={lockedUntil} />
        </Obstacle>
      )}
      {lacksPassword && <Obstacle title={t('user_password_none')} help={t('user_help_no_password')} action={reset} />}
      {failure && (
        <Obstacle
          title={reasonText(failure)}
          help={textIfAny(`user_help_${failure.reason ?? failure.code ?? ''}`)}
          action={failure.reason === 'wrong_password' && reset}
        >
          {t('user_last_failure')} <Ago time={failure.timestamp} />
          {access.can('read', 'activity') && (
            <>
              {' · '}
              <Link href={`/users/${user.id}/history`}>{t('user_history')}</Link>
            </>
          )}
        </Obstacle>
      )}
    </Card>
  );
}

interface ObstacleProps {
  title: string;
  help: string | undefined;
  /** What removes it. */
  action?: Help;
  children?: ComponentChildren;
}

function Obstacle({ title, help, action = false, children }: ObstacleProps) {
  return (
    <div class="obstacle">
      <Icon name="warning" />
      <div>
        <p>
          <strong>{title}</strong>
        </p>
        {help && <p class="hint">{help}</p>}
        {children && <p class="hint">{children}</p>}
        {action && <Button onPress={action.onSelect}>{action.text}</Button>}
      </div>
    </div>
  );
}
