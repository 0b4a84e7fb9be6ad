import { callAnonymously } from '../kit/api.js';
import { find } from '../kit/dom.js';
import { handleForm } from '../kit/form.js';
import { text } from '../kit/texts.js';
import { handOverWith, takeHandedEmail } from './handed-email.js';
import { showPart } from './parts.js';
import { offerResend } from './resend.js';

export function startForgotPassword(): void {
  const email = find<HTMLInputElement>('#email');
  takeHandedEmail(email);
  handOverWith('[data-hands-over]', () => email.value);
  handleForm('#forgot', 'forgot', async ({ email: address = '' }) => {
    await callAnonymously('POST', '/auth/password/request', { email: address });
    const part = showPart('done', text('status_forgot_done', { email: address }));
    // The reset requires a confirmed address, which the service does not reveal.
    if (part.querySelector('[data-resend]')) offerResend(part, address);
  });
}
