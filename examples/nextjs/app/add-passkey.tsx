'use client';

import { startRegistration } from '@simplewebauthn/browser';
import { addPasskey, startAddingPasskey } from './actions';
import { PasskeyButton } from './form';

export function AddPasskey() {
  return (
    <PasskeyButton
      onClick={async () => {
        const { options, message } = await startAddingPasskey();
        if (!options) return message;
        return (await addPasskey(await startRegistration({ optionsJSON: options }))).message;
      }}
    >
      Add a passkey
    </PasskeyButton>
  );
}
