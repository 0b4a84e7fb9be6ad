import { randomBytes, randomUUID } from 'node:crypto';
import t from 'tap';
import { createSecretBox } from '../../plugins/platform/encryption.js';
import { matchStep } from '../../plugins/second-factor/totp.js';
import { codeOfStep, rfcSecret, rfcVectors, stepLength } from '../helpers/users/totp.js';

const [old, current, strange] = [randomBytes(32), randomBytes(32), randomBytes(32)];
const owner = randomUUID();

t.test('encryption of secrets', async (t) => {
  t.test('the secret box decrypts with any of its keys, and encrypts with the first one', async (t) => {
    const before = createSecretBox([old]).seal('secret', owner);
    const box = createSecretBox([current, old]);
    t.equal(box.open(before, owner), 'secret');
    const sealed = box.seal('secret', owner);
    t.equal(createSecretBox([current]).open(sealed, owner), 'secret');
    t.not(sealed.split('.')[1], before.split('.')[1], 'the result names the key');
    t.throws(() => createSecretBox([old]).open(sealed, owner), /no longer known/);
    t.throws(() => createSecretBox([strange]).open(sealed, owner), /no longer known/);
    t.throws(() => createSecretBox([]));
  });

  t.test('the secret box decrypts a secret only for its owner', async (t) => {
    const box = createSecretBox([current]);
    const sealed = box.seal('secret', owner);
    for (const other of [randomUUID(), '', owner.toUpperCase()]) t.throws(() => box.open(sealed, other));
  });

  t.test('the secret box does not decrypt an altered secret', async (t) => {
    const box = createSecretBox([current, old]);
    const sealed = box.seal('secret', owner);
    const [version, keyId, nonce, text = ''] = sealed.split('.');
    const bytes = Buffer.from(text, 'base64url');
    for (let index = 0; index < bytes.length; index++) {
      const altered = Buffer.from(bytes);
      altered[index] = (altered[index] ?? 0) ^ 1;
      t.throws(() => box.open([version, keyId, nonce, altered.toString('base64url')].join('.'), owner));
    }
    const [, oldId] = createSecretBox([old]).seal('', owner).split('.');
    for (const forged of [
      '',
      'v1',
      'v1...',
      `${sealed}.`,
      `${sealed}.x`,
      sealed.replace('v1', 'v2'),
      [version, oldId, nonce, text].join('.'),
      [version, keyId, '', text].join('.'),
      [version, keyId, randomBytes(12).toString('base64url'), text].join('.'),
      [version, keyId, nonce, bytes.subarray(0, -1).toString('base64url')].join('.'),
      [version, keyId, nonce, bytes.subarray(-16).toString('base64url')].join('.'),
      [version, keyId, nonce, bytes.subarray(0, 4).toString('base64url')].join('.'),
      [version, nonce, text].join('.'),
    ]) {
      t.throws(() => box.open(forged, owner), forged);
    }
  });
});

t.test('codes match the test vectors of RFC 6238, appendix B', async (t) => {
  for (const [seconds, digits] of rfcVectors) {
    const step = Math.floor(seconds / 30);
    t.equal(matchStep(rfcSecret.base32, digits.slice(-6), new Date(seconds * 1000)), step, digits);
    t.equal(
      matchStep(rfcSecret.base32, digits, new Date(seconds * 1000)),
      null,
      'the eight-digit code is not accepted',
    );
  }
});

t.test('a code is valid in its own step and in the next, to the millisecond', async (t) => {
  const step = 50_000_000;
  const code = codeOfStep(step);
  const at = (moment: number) => matchStep(rfcSecret.base32, code, new Date(moment));
  t.equal(at(step * stepLength - 1), null, 'the last millisecond of the previous step: too early');
  t.equal(at(step * stepLength), step, 'the first millisecond of the step');
  t.equal(at((step + 1) * stepLength - 1), step, 'the last millisecond of the step');
  t.equal(at((step + 1) * stepLength), step, 'the first millisecond of the next step');
  t.equal(at((step + 2) * stepLength - 1), step, 'the last millisecond of the next step');
  t.equal(at((step + 2) * stepLength), null, 'two steps later: too late');
});
