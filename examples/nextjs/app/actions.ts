'use server';

import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/browser';
import { revalidatePath } from 'next/cache';
import { redirect } from 'next/navigation';
import { call, codeOf, Failure, isSignedOut } from '../lib/gatehouse';

/** What a form shows after it was submitted. */
export interface State {
  message?: string;
  /** The next step of the page. */
  step?: 'code' | 'password' | 'done' | 'dead';
  /** Values that the form shows again, because React resets it. */
  email?: string;
  first_name?: string;
}

const origin = process.env.PUBLIC_ORIGIN ?? 'http://localhost:3000';

/** An attempt to sign in, with a password or a passkey. */
export interface Attempt {
  email?: string;
  password?: string;
  credential?: AuthenticationResponseJSON;
  otp?: string;
}

export async function signIn({ email, password, credential, otp }: Attempt): Promise<State> {
  const [path, proof] = credential ? ['/auth/passkey', { credential }] : ['/auth/login', { email, password }];
  try {
    await call(path, { ...proof, ...(otp && { otp }), mode: 'session' });
  } catch (error) {
    // Without a code, the first request of a user with two-factor authentication fails with INVALID_OTP.
    if (codeOf(error) === 'INVALID_OTP') return { step: 'code', ...(otp && { message: messageOf(error) }) };
    if (credential && codeOf(error) === 'INVALID_CREDENTIALS') return { message: 'This passkey is not accepted here.' };
    return { message: messageOf(error), ...(email && { email }) };
  }
  redirect('/');
}

/** Returns the options with which the browser asks for a passkey. */
export async function startPasskeyLogin() {
  return call<PublicKeyCredentialRequestOptionsJSON>('/auth/passkey/options', {});
}

/** Returns the options with which the browser creates a passkey, or a message. */
export async function startAddingPasskey() {
  try {
    return { options: await call<PublicKeyCredentialCreationOptionsJSON>('/users/me/passkeys/options', {}) };
  } catch (error) {
    return { message: messageOfSignedIn(error) };
  }
}

export async function addPasskey(credential: RegistrationResponseJSON): Promise<State> {
  try {
    await call('/users/me/passkeys', { credential });
    revalidatePath('/');
    return { step: 'done' };
  } catch (error) {
    return { message: messageOfSignedIn(error) };
  }
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
  const { email, password, first_name } = valuesOf(form);
  const user = { email, password, first_name: first_name || null };
  try {
    // A registration always returns 204, even if it was dropped because of the password. So check the password first.
    const { acceptable, reasons } = await call<{ acceptable: boolean; reasons: string[] }>(
      '/auth/password/check',
      user,
    );
    if (!acceptable) throw new Failure('FAILED_VALIDATION', reasons[0]);
    await call('/users/register', { ...user, verification_url: `${origin}/verify-email` });
    return { email, step: 'done' };
  } catch (error) {
    return { email, first_name, message: messageOf(error) };
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
    // In a browser other than the one that was used to register, the user must set a password. If the request already
    // had a password, this error means that the link has been used.
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
  return setPassword('/auth/password/reset', form);
}

export async function acceptInvitation(_state: State, form: FormData): Promise<State> {
  return setPassword('/users/invite/accept', form);
}

async function setPassword(path: string, form: FormData): Promise<State> {
  const { token, password } = valuesOf(form);
  try {
    await call(path, { token, password });
    return { step: 'done' };
  } catch (error) {
    return isDeadLink(error) ? { step: 'dead' } : { message: messageOf(error) };
  }
}

function valuesOf(form: FormData) {
  const value = (name: string) => String(form.get(name) ?? '');
  return {
    email: value('email'),
    password: value('password'),
    first_name: value('first_name'),
    token: value('token'),
  };
}

const isDeadLink = (error: unknown) =>
  ['INVALID_TOKEN', 'TOKEN_EXPIRED', 'FORBIDDEN', 'INVALID_INVITE'].includes(codeOf(error) ?? '');

const passwordMessages: Record<string, string> = {
  too_short: 'Choose a longer password.',
  too_common: 'This password is easy to guess. Choose a less common one.',
  own_words: 'This password contains your name or address. Choose a different one.',
  breached: 'This password appears in a known data breach. Choose a different one.',
};

const messages: Record<string, string> = {
  INVALID_CREDENTIALS: 'The email address or password is incorrect.',
  INVALID_OTP: 'The code is incorrect. Enter the current code.',
  REAUTHENTICATION_REQUIRED: 'To do this, sign out and sign in again first.',
};

function messageOf(error: unknown): string {
  if (error instanceof Failure) {
    const { code, reason = '', retryAfter } = error;
    if (code === 'FAILED_VALIDATION') return passwordMessages[reason] ?? 'Choose a stronger password.';
    if (code === 'REQUESTS_EXCEEDED') return `Too many attempts. Try again in ${Math.ceil(retryAfter / 60)} min.`;
    if (messages[code]) return messages[code];
  }
  return 'Something went wrong. Try again in a minute.';
}

const messageOfSignedIn = (error: unknown): string =>
  isSignedOut(error) ? 'You are no longer signed in. Reload the page to sign in again.' : messageOf(error);
