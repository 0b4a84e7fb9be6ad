import type { ComponentChildren } from 'preact';
import { render } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ApiFailure } from '../../kit/api-failure.js';
import { t } from '../texts.js';
import { Button } from './button.js';
import { Failure } from './failure.js';
import { CheckField } from './field.js';

interface Props {
  title: string;
  /** Explains what the dialog is about. */
  lead?: ComponentChildren;
  onClose: () => void;
  /** `alertdialog` for questions. */
  role?: 'dialog' | 'alertdialog';
  size?: 'small' | 'large';
  /** Whether it stays near the top of the window when its height changes. */
  isAtTop?: boolean;
  children: ComponentChildren;
}

/** A modal dialog. The browser keeps the focus inside, closes it with Escape, and returns the focus. */
export function Dialog({ title, lead, onClose, role = 'dialog', size = 'small', isAtTop = false, children }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  // With `useEffect`, what is typed before the next frame would still go to what is behind the dialog.
  useLayoutEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
    // The browser would focus the button that closes the dialog.
    const first = dialog?.querySelector<HTMLElement>(
      '[autofocus], .dialog-body :is(input, select, textarea):not([type=hidden])',
    );
    first?.focus();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={`dialog-${size} ${isAtTop ? 'is-at-top' : ''}`}
      role={role === 'alertdialog' ? role : undefined}
      aria-labelledby={`${id}-title`}
      aria-describedby={lead === undefined ? undefined : `${id}-lead`}
      onCancel={(event) => {
        if (event.target !== element.current) return;
        event.preventDefault();
        onClose();
      }}
    >
      <div class="dialog-top">
        <h2 id={`${id}-title`}>{title}</h2>
        <Button kind="quiet" icon="close" label={t('close')} onPress={onClose} />
      </div>
      {lead !== undefined && (
        <div class="lead" id={`${id}-lead`}>
          {lead}
        </div>
      )}
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}

interface Question {
  /** Names what is changed or deleted. */
  title: string;
  /** What follows. */
  text: ComponentChildren;
  /** The label of the button that confirms. */
  action: string;
  /** Default: true. */
  isDangerous?: boolean;
  /** What the user can add to the action, and is chosen at first. */
  option?: { label: string; hint: string } | undefined;
  /** Performs the action, and what the option says. If it fails, the dialog stays open and says why. */
  act: (isOptionChosen: boolean) => Promise<unknown>;
}

function QuestionDialog(props: Question & { close: () => void }) {
  const { title, text, action, isDangerous = true, option, act, close } = props;
  const [failure, setFailure] = useState<unknown>();
  const [isChosen, setIsChosen] = useState(true);
  useEffect(() => {
    // The question is about what was on the screen before.
    addEventListener('popstate', close);
    return () => removeEventListener('popstate', close);
  }, []);
  const confirm = async () => {
    setFailure(undefined);
    try {
      await act(isChosen);
      close();
    } catch (error) {
      if (!(error instanceof ApiFailure)) console.error(error);
      setFailure(error);
    }
  };
  return (
    <Dialog title={title} lead={text} role="alertdialog" onClose={close}>
      <Failure failure={failure} />
      {option && <CheckField {...option} checked={isChosen} onChange={setIsChosen} />}
      <div class="buttons">
        <button type="button" class="secondary small" autofocus onClick={close}>
          {t('cancel')}
        </button>
        <Button kind={isDangerous ? 'danger' : 'primary'} onPress={confirm}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}

/** Asks the user to confirm an action. The harmless button has the focus, so that pressing a key twice does not confirm. */
export function ask(question: Question): void {
  const place = document.createElement('div');
  document.body.append(place);
  const close = () => {
    render(null, place);
    place.remove();
  };
  render(<QuestionDialog {...question} close={close} />, place);
}
