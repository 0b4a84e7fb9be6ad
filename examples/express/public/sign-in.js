import { call, Failure } from './gatehouse.js';
import { find, onClick, onSubmit, showPart } from './page.js';

/** The entered credentials. They are stored only while the page is open. @type {Record<string, string>} */
let credentials = {};

onSubmit(async ({ otp, ...values }) => {
  if (!otp) credentials = values;
  try {
    // Without a code, the first request of a user with two-factor authentication fails with INVALID_OTP.
    await call('/auth/login', { ...credentials, ...(otp && { otp: otp.replaceAll(' ', '') }), mode: 'session' });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (error.code === 'INVALID_OTP' && !otp) return showPart('code');
    find(otp ? '#otp' : '#password').focus();
    throw error;
  }
  // Only to a page of this site: an attacker can send a link with any value.
  const next = new URL(new URLSearchParams(location.search).get('next') ?? '/', location.origin);
  location.replace(next.origin === location.origin ? next : '/');
});

onClick('#start-over', async () => {
  credentials = {};
  /** @type {HTMLFormElement} */ (find('form')).reset();
  showPart('password');
});
