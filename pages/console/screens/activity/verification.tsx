import { useEffect, useRef, useState } from 'preact/hooks';
import { get } from '../../api/client.js';
import { patiently } from '../../api/patiently.js';
import type { Schemas } from '../../api/types.js';
import { Dialog } from '../../components/dialog.js';
import { TextField } from '../../components/field.js';
import { Form } from '../../components/form.js';
import { Icon } from '../../components/icon.js';
import { Copyable } from '../../components/layout.js';
import { numberText, t, tn } from '../../texts.js';

type Result = Schemas['ActivityVerificationResponse']['data'];

/** Verifies the audit log, part by part, until it reaches the end or the dialog is closed. */
export function VerificationDialog({ onClose }: { onClose: () => void }) {
  const [noted, setNoted] = useState('');
  const [verified, setVerified] = useState<number>();
  const [result, setResult] = useState<Result>();
  const isOpen = useRef(true);
  useEffect(
    () => () => {
      isOpen.current = false;
    },
    [],
  );

  const verify = async () => {
    setResult(undefined);
    let part: Result | undefined;
    let count = 0;
    try {
      do {
        setVerified(count);
        const after = part?.head ?? noted.trim();
        part = (await patiently(() => get('/activity/verification', { query: { after } }))).data;
        count += part.verified;
      } while (isOpen.current && part.intact && !part.complete);
      setResult({ ...part, verified: count });
    } finally {
      setVerified(undefined);
    }
  };

  return (
    <Dialog title={t('verify_title')} lead={t('verify_lead')} onClose={onClose} size="large">
      <Form submit={t('verify')} fields={[]} onSubmit={verify}>
        {() => (
          <>
            <TextField label={t('verify_noted')} hint={t('verify_noted_hint')} value={noted} onInput={setNoted} />
            <div role="status">
              {verified !== undefined && <p>{t('verify_progress', { count: numberText(verified) })}</p>}
              {result && (result.intact ? <Intact {...result} /> : <Altered fault={result.fault} />)}
            </div>
          </>
        )}
      </Form>
    </Dialog>
  );
}

const Intact = ({ verified, head }: Result) => (
  <div class="notice notice-success">
    <Icon name="check" />
    <div>
      <p>
        <strong>{t('verify_intact')}</strong> {tn('verify_count', verified)}
      </p>
      {head && (
        <>
          <p>{t('verify_store')}</p>
          <Copyable value={head} label={t('verify_head')} />
        </>
      )}
    </div>
  </div>
);

const Altered = ({ fault }: Pick<Result, 'fault'>) => (
  <div class="notice notice-error">
    <Icon name="warning" />
    <div>
      <p>
        <strong>{t('verify_altered')}</strong>
      </p>
      <p>{fault}</p>
    </div>
  </div>
);
