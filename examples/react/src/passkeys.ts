import {
  type PublicKeyCredentialCreationOptionsJSON as CreationOptions,
  type PublicKeyCredentialRequestOptionsJSON as RequestOptions,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser';
import { call, callSignedIn } from './gatehouse';

export interface Passkey {
  id: string;
  name: string;
}

export const listPasskeys = () => callSignedIn<Passkey[]>('/users/me/passkeys');

/** Asks the browser for a passkey. @returns the `credential` for `POST /auth/passkey` */
export async function askForPasskey() {
  const optionsJSON = await call<RequestOptions>('/auth/passkey/options', {});
  return startAuthentication({ optionsJSON });
}

/** Creates a passkey on the device and adds it to the account of the user. */
export async function addPasskey() {
  const optionsJSON = await callSignedIn<CreationOptions>('/users/me/passkeys/options', {});
  await callSignedIn('/users/me/passkeys', { credential: await startRegistration({ optionsJSON }) });
}
