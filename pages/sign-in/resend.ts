import { callAnonymously } from '../kit/api.js';
import { onPress } from '../kit/busy.js';
import { find } from '../kit/dom.js';
import { failureText, text } from '../kit/texts.js';

/** Offers to send the verification email again. */
export function offerResend(part: HTMLElement, email: string): void {
  const button = find<HTMLButtonElement>('[data-resend]', part);
  const status = find('[data-resent]', part);
  button.hidden = false;
  onPress(button, async () => {
    try {
      await callAnonymously('POST', '/users/register/resend', { email });
      status.textContent = text('status_register_resent');
    } catch (failure) {
      status.textContent = failureText('register', failure);
    }
  });
}
