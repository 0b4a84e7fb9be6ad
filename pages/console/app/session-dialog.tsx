import { useEffect, useState } from 'preact/hooks';
import { onSessionEnd } from '../api/session.js';
import { Button } from '../components/button.js';
import { Dialog } from '../components/dialog.js';
import { t } from '../texts.js';

interface Ended {
  url: string;
  tryAgain: () => void;
  leave: () => void;
}

/** Asks the user to sign in again, in another tab. What is on the screen stays as it is. */
export function SessionDialog() {
  const [ended, setEnded] = useState<Ended>();
  useEffect(() => {
    onSessionEnd((options) => {
      setEnded(options);
      return () => setEnded(undefined);
    });
  }, []);
  if (!ended) return null;
  return (
    <Dialog title={t('session_ended_title')} lead={t('session_ended')} role="alertdialog" onClose={ended.leave}>
      <div class="buttons">
        <Button onPress={ended.tryAgain}>{t('session_ended_done')}</Button>
        <a class="primary small" href={ended.url} target="_blank" rel="noopener opener">
          {t('session_ended_sign_in')}
        </a>
      </div>
    </Dialog>
  );
}

/** Where the other tab arrives. It tells this tab, and closes. */
export function SignedIn() {
  useEffect(() => {
    localStorage.setItem('gatehouse-signed-in', String(Date.now()));
    close();
  }, []);
  return <p class="signed-in">{t('signed_in')}</p>;
}
