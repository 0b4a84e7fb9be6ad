import { readFileSync } from 'node:fs';
import t from 'tap';
import { createWebAuthn } from '../../plugins/webauthn/service.js';

/** The examples of the standard (WebAuthn Level 3, 16), with its challenges instead of those of the service. */

interface Vector {
  name: string;
  registration: { credentialId: string; clientDataJSON: string; attestationObject: string };
  authentication: { clientDataJSON: string; authenticatorData: string; signature: string };
}
const { vectors } = JSON.parse(readFileSync('test/passkeys/vectors.json', 'utf8')) as { vectors: Vector[] };

const webauthn = createWebAuthn({
  challenges: { issue: () => '', read: (id) => ({ id, expiresAt: new Date() }) },
  rpId: 'example.org',
  origins: ['https://example.org'],
});
const user = '0c9d5d6e-3f0b-4d0c-9d53-6a4f1e0c8b21';
const userHandle = Buffer.from(user.replaceAll('-', ''), 'hex').toString('base64url');

/** The service accepts EdDSA with Ed25519, ES256, and RS256, and no pages in frames of other sites. */
const refusedOnes = [
  'ES256 Credential with "crossOrigin": true in clientDataJSON',
  'ES256 Credential with "topOrigin" in clientDataJSON',
  'Packed Attestation with ES384 Credential',
  'Packed Attestation with ES512 Credential',
  'Packed Attestation with Ed448 Credential',
];

t.test('the examples of the standard are accepted, except those that the service does not support', async (t) => {
  const refused: string[] = [];
  for (const { name, registration, authentication } of vectors) {
    const { credentialId: id, clientDataJSON, attestationObject } = registration;
    const common = { id, rawId: id, type: 'public-key' };
    const made = await webauthn.verifyRegistration(
      { ...common, response: { clientDataJSON, attestationObject } },
      user,
    );
    if (!made) {
      refused.push(name);
      continue;
    }
    t.equal(made.credentialId, id, name);
    const passkey = { ...made, id: '', user };
    const response = { ...authentication, userHandle };
    t.ok(await webauthn.verifyAssertion({ ...common, response }, passkey), name);
    const signature = Buffer.from(response.signature, 'base64url');
    signature[signature.length - 1] = (signature.at(-1) ?? 0) ^ 1;
    const altered = { ...response, signature: signature.toString('base64url') };
    t.equal(await webauthn.verifyAssertion({ ...common, response: altered }, passkey), undefined, `${name}: altered`);
  }
  t.strictSame(refused, refusedOnes);
  t.equal(vectors.length, 15);
});
