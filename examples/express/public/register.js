import { call, passwordMessage } from './gatehouse.js';
import { find, onClick, onSubmit, showAlert, showPart } from './page.js';

let email = '';

onSubmit(async ({ first_name = '', ...values }) => {
  const user = { ...values, first_name: first_name || null };
  // A registration always returns 204, even if it was dropped because of the password. So check the password first.
  const { acceptable, reasons } = await call('/auth/password/check', user);
  if (!acceptable) {
    showAlert(passwordMessage(reasons[0]));
    find('#password').focus();
    return;
  }
  await call('/users/register', { ...user, verification_url: `${location.origin}/verify-email` });
  email = values.email ?? '';
  find('#address').textContent = email;
  showPart('sent');
});

onClick('#resend', async () => {
  await call('/users/register/resend', { email });
  find('[role=status]').textContent = 'We have sent the email again. Also check your spam folder.';
});
