import { callAnonymously } from './api.js';
import { handleForm } from './form.js';
import { showPart } from './parts.js';
import { text } from './texts.js';

export function startForgotPassword(): void {
  handleForm('#forgot', 'forgot', async ({ email = '' }) => {
    await callAnonymously('POST', '/auth/password/request', { email });
    showPart('done', text('status_forgot_done', { email }));
  });
}
