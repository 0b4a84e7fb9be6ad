import { ApiFailure } from '../../kit/api-failure.js';
import { failureMessage, t } from '../texts.js';
import { Button } from './button.js';
import { Icon } from './icon.js';

interface Props {
  failure: unknown;
  /** Reads again. */
  retry?: () => void;
  /** Removes the message. */
  close?: () => void;
}

/** Says why a request failed, with its ID for the operator. */
export function Failure({ failure, retry, close }: Props) {
  const message = failure === undefined ? '' : failureMessage(failure);
  const requestId = failure instanceof ApiFailure ? failure.requestId : undefined;
  return (
    <div class="notice notice-error" role="alert">
      {message !== '' && (
        <>
          <Icon name="warning" />
          <div>
            <p>{message}</p>
            {requestId && <p class="hint">{t('request_id', { id: requestId })}</p>}
          </div>
          {retry && <Button onPress={retry}>{t('try_again')}</Button>}
          {close && <Button kind="quiet" icon="close" label={t('close')} onPress={close} />}
        </>
      )}
    </div>
  );
}
