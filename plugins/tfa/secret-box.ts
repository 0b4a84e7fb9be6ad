import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** Encrypts what must be kept in a form that can be read back. */
export interface SecretBox {
  seal(plain: string): string;
  /** @throws when the sealed text was altered or sealed with another key */
  open(sealed: string): string;
}

const version = 'v1';

/** AES-256-GCM with a random nonce (NIST SP 800-38D). Sealed form: `v1.<nonce>.<ciphertext and tag>` in base64url. */
export function createSecretBox(key: Buffer): SecretBox {
  return {
    seal: (plain) => {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return [version, nonce.toString('base64url'), text.toString('base64url')].join('.');
    },

    open: (sealed) => {
      const [prefix, nonce = '', text = ''] = sealed.split('.');
      if (prefix !== version) throw new Error('The sealed secret is of an unknown version.');
      const bytes = Buffer.from(text, 'base64url');
      const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'), { authTagLength: 16 });
      decipher.setAuthTag(bytes.subarray(-16));
      return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString('utf8');
    },
  };
}
