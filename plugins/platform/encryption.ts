import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { keyIdOf } from './key-derivation.js';

/** Encrypts secrets that the service must be able to decrypt later. */
export interface SecretBox {
  /** @param owner the ID of the secret's owner, such as a user. The secret can be opened only with the same ID */
  seal(plain: string, owner: string): string;
  /** @throws if the sealed text was altered, has another owner, or was sealed with an unknown key */
  open(sealed: string, owner: string): string;
  /** Seals the text with the current key. Returns it unchanged if that key has already sealed it. @throws like `open` */
  renew(sealed: string, owner: string): string;
}

const version = 'v1';

/**
 * AES-256-GCM with a random nonce (NIST SP 800-38D). Sealed form: `v1.<key id>.<nonce>.<ciphertext and tag>`, in
 * base64url. The owner's ID is authenticated data, so a sealed secret is useless in the row of another owner.
 * @param keys the first one is used to seal, and all of them to open, so that secrets sealed with an older key remain readable
 */
export function createSecretBox(keys: readonly Buffer[]): SecretBox {
  const [current] = keys;
  if (!current) throw new Error('A secret box requires a key.');
  const byId = new Map(keys.map((key) => [keyIdOf(key), key]));
  const context = (keyId: string, owner: string) => Buffer.from([version, keyId, owner].join('.'));

  const box: SecretBox = {
    seal: (plain, owner) => {
      const keyId = keyIdOf(current);
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', current, nonce);
      cipher.setAAD(context(keyId, owner));
      const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return [version, keyId, nonce.toString('base64url'), text.toString('base64url')].join('.');
    },

    open: (sealed, owner) => {
      const [prefix, keyId = '', nonce = '', text = '', ...rest] = sealed.split('.');
      if (prefix !== version || rest.length > 0) throw new Error('The sealed secret has an unknown version.');
      const key = byId.get(keyId);
      if (!key) throw new Error('The secret was sealed with a key that is no longer known.');
      const bytes = Buffer.from(text, 'base64url');
      const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'), { authTagLength: 16 });
      decipher.setAAD(context(keyId, owner));
      decipher.setAuthTag(bytes.subarray(-16));
      return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString('utf8');
    },

    renew: (sealed, owner) =>
      sealed.split('.')[1] === keyIdOf(current) ? sealed : box.seal(box.open(sealed, owner), owner),
  };
  return box;
}
