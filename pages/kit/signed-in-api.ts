import { callInSession, goToLogin, type Method, withEitherCookie } from './api.js';
import { ApiFailure } from './api-failure.js';
import type { Provider } from './page-data.js';
import { page } from './page-data.js';
import { canUsePasskeys } from './passkey.js';
import { createProofDialog, type Proof } from './proof-dialog.js';

/**
 * Calls the API as the signed-in user. Where the API requires a fresh session, the page asks for a proof of identity and
 * repeats the call.
 * @throws {ApiFailure} CANCELED when the user does not want to prove their identity
 */
export const callWhileSignedIn = <T>(method: Method, path: string, body?: object): Promise<T> =>
  withEitherCookie(() => callFresh<T>(method, path, body));

/** Does the same, and redirects users whose session has ended to the sign-in page. @throws {ApiFailure} */
export async function callSignedIn<T>(method: Method, path: string, body?: object): Promise<T> {
  try {
    return await callWhileSignedIn<T>(method, path, body);
  } catch (failure) {
    if (failure instanceof ApiFailure && failure.isSignedOut) return goToLogin();
    throw failure;
  }
}

/** Calls an operation that checks a password. A wrong password and an ended session have the same error code. */
export const callWithProof = <T>(path: string, proof: object): Promise<T> =>
  requireSession(() => callFresh<T>('POST', path, proof));

async function requireSession<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (failure) {
    if (failure instanceof ApiFailure && failure.isSignedOut) await callSignedIn('GET', '/users/me/profile');
    throw failure;
  }
}

/** The only place that handles sessions that are not fresh. */
async function callFresh<T>(method: Method, path: string, body?: object): Promise<T> {
  for (;;) {
    try {
      return await callInSession<T>(method, path, body);
    } catch (failure) {
      if (!(failure instanceof ApiFailure) || failure.code !== 'REAUTHENTICATION_REQUIRED') throw failure;
      await proveIdentity(failure);
    }
  }
}

const ask = createProofDialog(
  (proof: Proof) => requireSession(() => callInSession('POST', '/auth/reauthenticate', proof)),
  () => requireSession(() => callInSession('POST', '/auth/email/request', {})),
);

/** Actions that need a proof at the same time share one dialog. */
let proving: Promise<void> | undefined;

function proveIdentity(failure: ApiFailure): Promise<void> {
  proving ??= askFor(failure).finally(() => {
    proving = undefined;
  });
  return proving;
}

async function askFor(failure: ApiFailure): Promise<void> {
  const needs = (method: string) => failure.methods.includes(method);
  // For users with two-factor authentication, a provider does not replace the code.
  const providers = needs('provider') && !needs('otp') ? await linkedProviders().catch(() => []) : [];
  const ways = {
    ...{ password: needs('password'), otp: needs('otp'), email: needs('email') },
    passkey: needs('passkey') && canUsePasskeys(),
    providers,
  };
  if (!ways.password && !ways.otp && !ways.email && !ways.passkey && providers.length === 0) throw failure;
  if (!(await ask(ways))) throw new ApiFailure('CANCELED');
}

/** The linked providers through which the user can sign in on these pages. */
async function linkedProviders(): Promise<Provider[]> {
  const { data } = await callInSession<{ data: { providers: string[] } }>('GET', '/users/me/profile');
  return page.providers.filter(({ name, session }) => session && data.providers.includes(name));
}
