import { useActionState } from 'react';
import { call, Failure, isDeadLink, messageOf } from '../express/public/gatehouse.js';
import { useLinkToken } from './use-link-token.js';

interface State {
  step: 'click' | 'password' | 'done' | 'dead';
  message?: string;
}

/** Email scanners open links too, so the address is confirmed only when the user clicks the button. */
export function VerifyEmail() {
  const token = useLinkToken();
  const [{ step, message }, confirm, isPending] = useActionState(
    async (previous: State, form: FormData): Promise<State> => {
      const password = form.get('password');
      try {
        await call('/users/register/verify-email', { token, ...(password && { password }) });
        return { step: 'done' };
      } catch (error) {
        if (isDeadLink(error)) return { step: 'dead' };
        // In a browser other than the one that was used to register, the user must set a password.
        if (error instanceof Failure && error.code === 'INVALID_PAYLOAD')
          return { step: password ? 'dead' : 'password' };
        return { ...previous, message: messageOf(error) };
      }
    },
    { step: 'click' },
  );

  if (step === 'done') return <h1>Your address is confirmed</h1>;
  if (step === 'dead') return <h1>This link cannot be used</h1>;
  return (
    <form action={confirm}>
      <h1>Confirm your address</h1>
      <p role="alert">{message}</p>
      {step === 'password' && (
        <>
          <p>You are using a different browser. Set the password of your account to confirm.</p>
          <label htmlFor="password">Password</label>
          <input id="password" name="password" type="password" autoComplete="new-password" minLength={8} required />
        </>
      )}
      <button type="submit" disabled={isPending}>
        Confirm
      </button>
    </form>
  );
}
