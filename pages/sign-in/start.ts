import { enableCodeFields } from '../kit/code-field.js';
import { enablePasswordToggles } from '../kit/password-toggle.js';
import { startConfirmPage } from './confirm-page.js';
import { startEmailLogin } from './email-login.js';
import { startForgotPassword } from './forgot-password.js';
import { startLogin } from './login.js';
import { page } from './page-data.js';
import { startRegister } from './register.js';
import { startTokenPage } from './token-page.js';
import { startVerifyEmail } from './verify-email.js';

const starts: Readonly<Record<string, () => void>> = {
  login: startLogin,
  'forgot-password': startForgotPassword,
  'reset-password': () => startTokenPage('reset', '/auth/password/reset'),
  'accept-invite': () => startTokenPage('invite', '/users/invite/accept'),
  register: startRegister,
  'verify-email': startVerifyEmail,
  'email-login': startEmailLogin,
  'confirm-email': () => startConfirmPage('confirm_email', '/users/me/email/confirm'),
  'not-me': () => startConfirmPage('not_me', '/account/not-me'),
  'cancel-email-change': () => startConfirmPage('cancel_email', '/users/me/email/cancel'),
};

enablePasswordToggles();
enableCodeFields();
starts[page.page]?.();
