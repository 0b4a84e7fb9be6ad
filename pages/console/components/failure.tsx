import { ApiFailure } from '../../kit/api-failure.js';
import { failureMessage, t } from '../texts.js';
import { Button } from './button.js';
import { Icon } from './icon.js';

/** Says why a request failed, with its ID for the operator. @param retry reads again */
export function Failure({ failure, retry }: { failure: unknown; retry?: () => void }) {
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
        </>
      )}
    </div>
  );
}
