import { useActionState, useState } from 'react';
import { call, Failure, messageOf } from '../express/public/gatehouse.js';
import { useAccount } from './use-user.js';

export function SignIn() {
  const { reload } = useAccount();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [needsCode, setNeedsCode] = useState(false);

  const [message, submit, isPending] = useActionState(async (_previous: string, form: FormData) => {
    const otp = String(form.get('otp') ?? '').replaceAll(' ', '');
    try {
      await call('/auth/login', { email, password, ...(otp && { otp }), mode: 'session' });
      await reload();
      return '';
    } catch (error) {
      // Without a code, the first request of a user with two-factor authentication fails with INVALID_OTP.
      if (!(error instanceof Failure) || error.code !== 'INVALID_OTP' || otp) return messageOf(error);
      setNeedsCode(true);
      return '';
    }
  }, '');

  return (
    <form action={submit}>
      <h1>Sign in</h1>
      <p role="alert">{message}</p>
      <div hidden={needsCode}>
        <label htmlFor="email">Email address</label>
        <input
          id="email"
          type="email"
          autoComplete="username"
          required
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
        <label htmlFor="password">Password</label>
        <input
          id="password"
          type="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
      </div>
      {needsCode && (
        <>
          <label htmlFor="otp">Code from your authenticator app, or a recovery code</label>
          {/* biome-ignore lint/a11y/noAutofocus: the field appears because the user submitted the form */}
          <input id="otp" name="otp" autoComplete="one-time-code" required autoFocus />
        </>
      )}
      <button type="submit" disabled={isPending}>
        Sign in
      </button>
    </form>
  );
}
