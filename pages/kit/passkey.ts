import {
  type AuthenticationResponseJSON,
  browserSupportsWebAuthn,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser';
import { callAnonymously } from './api.js';
import { ApiFailure } from './api-failure.js';
import { page } from './page-data.js';

/** Whether passkeys can be used on this page. Browsers refuse them on any other domain, and on an IP address. */
export const canUsePasskeys = (): boolean =>
  page.passkeyDomain !== null &&
  !/^[\d.]+$|:/.test(location.hostname) &&
  (location.hostname === page.passkeyDomain || location.hostname.endsWith(`.${page.passkeyDomain}`)) &&
  browserSupportsWebAuthn();

/**
 * Asks the user for a passkey.
 * @param isSuggested the browser suggests passkeys in the email address field, instead of opening a dialog
 * @throws {ApiFailure} CANCELED if the user does not choose one
 */
export async function usePasskey(isSuggested = false): Promise<AuthenticationResponseJSON> {
  const { data: optionsJSON } = await callAnonymously<{ data: PublicKeyCredentialRequestOptionsJSON }>(
    'POST',
    '/auth/passkey/options',
  );
  return startAuthentication({ optionsJSON, useBrowserAutofill: isSuggested }).catch(fail);
}

/** Not in the types of TypeScript yet, nor in all browsers. */
interface Signals {
  signalUnknownCredential?(credential: { rpId: string; credentialId: string }): Promise<unknown>;
}

/**
 * If the service does not know a passkey, tells the browser, which then no longer offers it.
 * @param failure why the passkey was refused
 * @returns the failure to show: `passkey_unknown`, or the given one
 */
export async function reportUnknownPasskey(credentialId: string, failure: unknown): Promise<unknown> {
  if (!(failure instanceof ApiFailure) || failure.code !== 'INVALID_CREDENTIALS') return failure;
  const check = callAnonymously<{ data: { known: boolean } }>('POST', '/auth/passkey/check', { id: credentialId });
  const isKnown = await check.then(
    ({ data }) => data.known,
    () => true,
  );
  if (isKnown) return failure;
  const signals = PublicKeyCredential as unknown as Signals;
  // The message is the same if the browser cannot do this.
  await signals.signalUnknownCredential?.({ rpId: page.passkeyDomain ?? '', credentialId }).catch(() => {});
  return new ApiFailure('passkey_unknown');
}

/** Creates a passkey. @throws {ApiFailure} CANCELED, `passkey_exists` */
export const createPasskey = (optionsJSON: PublicKeyCredentialCreationOptionsJSON): Promise<RegistrationResponseJSON> =>
  startRegistration({ optionsJSON }).catch(fail);

/** The browser does not reveal whether the user canceled or has no passkey. */
function fail(error: unknown): never {
  const { name } = error as Error;
  if (name === 'NotAllowedError' || name === 'AbortError') throw new ApiFailure('CANCELED');
  throw new ApiFailure(name === 'InvalidStateError' ? 'passkey_exists' : 'passkey_browser');
}
