'use server';

import { redirect } from 'next/navigation';
import { call, Failure } from '../lib/gatehouse';

/** What a form shows after it was submitted. */
export interface State {
  message?: string;
  /** The next step of the page. */
  step?: 'code' | 'password' | 'done' | 'dead';
  /** Shown again in the form, because React resets it. */
  email?: string;
}

const origin = process.env.PUBLIC_ORIGIN ?? 'http://localhost:3000';

export async function signIn(_state: State, form: FormData): Promise<State> {
  const { email, password, otp } = valuesOf(form);
  try {
    await call('/auth/login', { email, password, ...(otp && { otp: otp.replaceAll(' ', '') }), mode: 'session' });
  } catch (error) {
    // Without a code, the first request of a user with two-factor authentication fails with INVALID_OTP.
    if (codeOf(error) === 'INVALID_OTP') return { email, step: 'code', ...(otp && { message: messageOf(error) }) };
    return { email, message: messageOf(error) };
  }
  redirect('/');
}

export async function signOut(): Promise<void> {
  try {
    await call('/auth/logout', { mode: 'session' });
  } catch (error) {
    // The browser no longer has a session cookie.
    if (codeOf(error) !== 'INVALID_PAYLOAD') throw error;
  }
  redirect('/sign-in');
}

export async function register(_state: State, form: FormData): Promise<State> {
  const { email, password } = valuesOf(form);
  try {
    // A registration always returns 204, even if it was dropped because of the password. So check the password first.
    const { acceptable, reasons } = await call<{ acceptable: boolean; reasons: string[] }>('/auth/password/check', {
      email,
      password,
    });
    if (!acceptable) return { email, message: messageOf(new Failure('FAILED_VALIDATION', reasons[0])) };
    await call('/users/register', { email, password, verification_url: `${origin}/verify-email` });
    return { email, step: 'done' };
  } catch (error) {
    return { email, message: messageOf(error) };
  }
}

export async function sendAgain(state: State): Promise<State> {
  try {
    await call('/users/register/resend', { email: state.email });
    return { ...state, message: 'We have sent the email again. Also check your spam folder.' };
  } catch (error) {
    return { ...state, message: messageOf(error) };
  }
}

export async function verifyEmail(_state: State, form: FormData): Promise<State> {
  const { token, password } = valuesOf(form);
  try {
    await call('/users/register/verify-email', { token, ...(password && { password }) });
    return { step: 'done' };
  } catch (error) {
    if (isDeadLink(error)) return { step: 'dead' };
    // In a browser other than the one that was used to register, the user must set a password.
    if (codeOf(error) === 'INVALID_PAYLOAD') return { step: password ? 'dead' : 'password' };
    return { message: messageOf(error), ...(password && { step: 'password' }) };
  }
}

export async function requestReset(_state: State, form: FormData): Promise<State> {
  const { email } = valuesOf(form);
  try {
    await call('/auth/password/request', { email, reset_url: `${origin}/reset-password` });
    return { email, step: 'done' };
  } catch (error) {
    return { email, message: messageOf(error) };
  }
}

export async function resetPassword(_state: State, form: FormData): Promise<State> {
  const { token, password } = valuesOf(form);
  try {
    await call('/auth/password/reset', { token, password });
    return { step: 'done' };
  } catch (error) {
    return isDeadLink(error) ? { step: 'dead' } : { message: messageOf(error) };
  }
}

function valuesOf(form: FormData) {
  const value = (name: string) => String(form.get(name) ?? '');
  return { email: value('email'), password: value('password'), otp: value('otp'), token: value('token') };
}

const codeOf = (error: unknown) => (error instanceof Failure ? error.code : undefined);

const isDeadLink = (error: unknown) => ['INVALID_TOKEN', 'TOKEN_EXPIRED', 'FORBIDDEN'].includes(codeOf(error) ?? '');

function messageOf(error: unknown): string {
  if (!(error instanceof Failure)) return 'Something went wrong. Try again in a minute.';
  const { code, reason, retryAfter = 60 } = error;
  if (code === 'INVALID_CREDENTIALS') return 'The email address or password is incorrect.';
  if (code === 'INVALID_OTP') return 'The code is incorrect. Enter the current code.';
  if (code === 'REQUESTS_EXCEEDED') return `Too many attempts. Try again in ${Math.ceil(retryAfter / 60)} min.`;
  if (code !== 'FAILED_VALIDATION') return 'Something went wrong. Try again in a minute.';
  return reason === 'too_short' ? 'Choose a longer password.' : 'Choose a password that is harder to guess.';
}
