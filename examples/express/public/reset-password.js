import { call, isDeadLink } from './gatehouse.js';
import { find, onSubmit, showPart, takeToken } from './page.js';

const token = takeToken();

onSubmit(async ({ password }) => {
  try {
    await call('/auth/password/reset', { token, password });
    showPart('done');
  } catch (error) {
    if (isDeadLink(error)) return showPart('dead');
    find('#password').focus();
    throw error;
  }
});
