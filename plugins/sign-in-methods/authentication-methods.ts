import type { AuthenticationMethod } from '../../schemas/sessions.js';

/** What a user has proved, to sign in or in a session. */
export interface ProvedFactors {
  password?: boolean;
  /** A code or link in an email. */
  email?: boolean;
  provider?: boolean;
  passkey?: { isUserVerified: boolean; isBackedUp: boolean } | undefined;
  /** The accepted one-time password or recovery code; null if none was required. */
  code?: object | null;
}

/** Whether a passkey that verified the user is among the factors. It counts as two factors. */
export const isVerifiedByPasskey = ({ passkey }: ProvedFactors): boolean => passkey?.isUserVerified === true;

/**
 * The names of the factors. A code always means two factors, because it is accepted only in addition to another factor: in the same
 * login, or in a session that began with one.
 */
export function authenticationMethodsOf(proved: ProvedFactors): AuthenticationMethod[] {
  const { password = false, email = false, provider = false, passkey, code } = proved;
  const hasCode = code !== undefined && code !== null;
  const isVerified = isVerifiedByPasskey(proved);
  const methods = {
    email,
    fed: provider,
    hwk: passkey?.isBackedUp === false,
    mfa: hasCode || isVerified,
    otp: hasCode,
    pwd: password,
    swk: passkey?.isBackedUp === true,
    user: isVerified,
  } satisfies Record<AuthenticationMethod, boolean>;
  return (Object.keys(methods) as AuthenticationMethod[]).filter((method) => methods[method]);
}
