import { call } from './gatehouse.js';
import { find, onSubmit, showPart } from './page.js';

onSubmit(async ({ email = '' }) => {
  await call('/auth/password/request', { email, reset_url: `${location.origin}/reset-password` });
  find('#address').textContent = email;
  showPart('sent');
});
