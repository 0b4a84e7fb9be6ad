import { text, waitText } from './texts.js';

/** Seconds. A pause before another code can be requested, so that the first email can arrive. */
export const resendPause = 30;

/** For some seconds, disables the button that sends another code, and shows how long. @returns a function that stops the countdown */
export function startPause(button: HTMLButtonElement, seconds = resendPause): () => void {
  let left = seconds;
  const show = () => {
    button.disabled = left > 0;
    button.textContent =
      left > 0 ? text('action_email_code_wait', { wait: waitText(left) }) : text('action_email_code');
    if (left-- <= 0) clearInterval(timer);
  };
  const timer = setInterval(show, 1000);
  show();
  return () => clearInterval(timer);
}
