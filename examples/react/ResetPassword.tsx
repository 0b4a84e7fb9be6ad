import { useActionState } from 'react';
import { call, isDeadLink, messageOf } from '../express/public/gatehouse.js';
import { useLinkToken } from './use-link-token.js';

interface State {
  step: 'form' | 'done' | 'dead';
  message?: string;
}

/** Requests the link to set a new password. */
export function ForgotPassword() {
  const [{ step, message }, send, isPending] = useActionState(
    async (_previous: State, form: FormData): Promise<State> => {
      try {
        await call('/auth/password/request', {
          email: form.get('email'),
          reset_url: `${location.origin}/reset-password`,
        });
        return { step: 'done' };
      } catch (error) {
        return { step: 'form', message: messageOf(error) };
      }
    },
    { step: 'form' },
  );

  if (step === 'done') return <p>If there is an account for this address, we have sent a link to it.</p>;
  return (
    <form action={send}>
      <h1>Reset your password</h1>
      <p role="alert">{message}</p>
      <label htmlFor="email">Email address</label>
      <input id="email" name="email" type="email" autoComplete="username" required />
      <button type="submit" disabled={isPending}>
        Send a link
      </button>
    </form>
  );
}

/** The page that the link opens. */
export function ResetPassword() {
  const token = useLinkToken();
  const [{ step, message }, save, isPending] = useActionState(
    async (_previous: State, form: FormData): Promise<State> => {
      try {
        await call('/auth/password/reset', { token, password: form.get('password') });
        return { step: 'done' };
      } catch (error) {
        return isDeadLink(error) ? { step: 'dead' } : { step: 'form', message: messageOf(error) };
      }
    },
    { step: 'form' },
  );

  if (step === 'done') return <h1>Your new password is saved</h1>;
  if (step === 'dead') return <h1>This link cannot be used</h1>;
  return (
    <form action={save}>
      <h1>Set a new password</h1>
      <p role="alert">{message}</p>
      <label htmlFor="password">New password</label>
      <input id="password" name="password" type="password" autoComplete="new-password" minLength={8} required />
      <button type="submit" disabled={isPending}>
        Save password
      </button>
    </form>
  );
}
