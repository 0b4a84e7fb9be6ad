import { useActionState, useState } from 'react';
import { call, messageOf, passwordMessage } from '../express/public/gatehouse.js';

export function Register() {
  const [email, setEmail] = useState('');
  const [isSent, setIsSent] = useState(false);

  const [message, submit, isPending] = useActionState(async (_previous: string, form: FormData) => {
    const user = { email, password: String(form.get('password')) };
    try {
      // A registration always returns 204, even if it was dropped because of the password. So check the password first.
      const { acceptable, reasons } = await call('/auth/password/check', user);
      if (!acceptable) return passwordMessage(reasons[0]);
      await call('/users/register', { ...user, verification_url: `${location.origin}/verify-email` });
      setIsSent(true);
      return '';
    } catch (error) {
      return messageOf(error);
    }
  }, '');

  if (isSent) return <CheckYourEmail email={email} />;
  return (
    <form action={submit}>
      <h1>Create an account</h1>
      <p role="alert">{message}</p>
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
      <input id="password" name="password" type="password" autoComplete="new-password" minLength={8} required />
      <button type="submit" disabled={isPending}>
        Create account
      </button>
    </form>
  );
}

function CheckYourEmail({ email }: { email: string }) {
  const [message, sendAgain, isPending] = useActionState(
    () =>
      call('/users/register/resend', { email }).then(
        () => 'We have sent the email again. Also check your spam folder.',
        messageOf,
      ),
    '',
  );
  return (
    <form action={sendAgain}>
      <h1>Check your email</h1>
      <p>We have sent a link to {email}. Open it to confirm your address.</p>
      <button type="submit" disabled={isPending}>
        Send again
      </button>
      <p role="status">{message}</p>
    </form>
  );
}
