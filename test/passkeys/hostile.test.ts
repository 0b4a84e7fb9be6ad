// @suite not-everyday: tries hundreds of cases

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { validateCertificatePath } from '@simplewebauthn/server/helpers';
import t from 'tap';
import type { PasskeyCredential, RegistrationCredential } from '../../schemas/passkeys.js';
import { recorded } from '../helpers/database/activity.js';
import { refused } from '../helpers/http/refusals.js';
import { startTestApp } from '../helpers/service/app.js';
import { type Changes, cbor, createAuthenticator } from '../helpers/users/authenticator.js';
import { addPasskeyTo, assertion, creationOptions, requestOptions, signIn } from '../helpers/users/passkeys.js';
import { assertUnchanged } from '../helpers/users/rights.js';
import { openSession } from '../helpers/users/sessions.js';
import { createUser } from '../helpers/users/users.js';

/** Everything that a hostile client can send instead of a passkey is refused identically, and changes nothing. */

const service = await startTestApp(t);
const { app, post } = service;

const { id: user } = await createUser(app);
const headers = await openSession(app, user);
const passkey = await addPasskeyTo(service, user);
const other = await createUser(app);
const otherPasskey = await addPasskeyTo(service, other.id);
const otherHeaders = await openSession(app, other.id);
const handleOf = (id: string) => Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url');
const flip = (bytes: Buffer) => Buffer.from(bytes.map((byte, at) => (at === bytes.length - 1 ? byte ^ 1 : byte)));
const nested = (depth: number) => Buffer.concat([Buffer.alloc(depth, 0x81), Buffer.from([0])]);
const base64url = (bytes: Uint8Array | string) => Buffer.from(bytes).toString('base64url');

/** What is wrong with both kinds of responses. */
const common: Record<string, Changes> = {
  'another origin': { clientData: { origin: 'https://evil.example' } },
  'the origin with a slash': { clientData: { origin: 'http://localhost:8055/' } },
  'a list of origins': { clientData: { origin: ['http://localhost:8055'] } },
  'no origin': { clientData: { origin: undefined } },
  'a page in a frame of another site': { clientData: { crossOrigin: true } },
  'a page in a frame, with a text': { clientData: { crossOrigin: 'false' } },
  'a top origin': { clientData: { crossOrigin: true, topOrigin: 'https://evil.example' } },
  'another domain': { rpId: 'evil.example' },
  'the wrong ceremony': { clientData: { type: 'payment.get' } },
  'a challenge of its own': { clientData: { challenge: base64url(randomBytes(56)) } },
  'no challenge': { clientData: { challenge: undefined } },
  'a challenge that is no text': { clientData: { challenge: 7 } },
  'a long challenge': { clientData: { challenge: 'A'.repeat(100_000) } },
  'client data that is no JSON': { clientDataBytes: '{' },
  'client data that is null': { clientDataBytes: 'null' },
  'client data that is a list': { clientDataBytes: '[]' },
  'client data with deep nesting': { clientDataBytes: '['.repeat(200_000) },
  'empty client data': { clientDataBytes: '' },
  'no user presence': { userPresent: false },
  'a backup of what cannot be backed up': { backupEligible: false, backedUp: true },
  'bytes after the data': { trailing: Buffer.from([1, 2, 3]) },
  'extensions that are announced and missing': { flags: 128 },
  'extensions with deep nesting': { flags: 128, trailing: nested(10_000) },
  'truncated data': { authenticatorData: (data) => data.subarray(0, 36) },
  'no data': { authenticatorData: () => Buffer.alloc(0) },
  'too much data': { authenticatorData: (data) => Buffer.concat([data, Buffer.alloc(200_000)]) },
};

const ofAssertion: Record<string, Changes> = {
  ...common,
  'a changed signature': { signature: flip },
  'no signature': { signature: () => Buffer.alloc(0) },
  'a signature that is no ASN.1': { signature: () => randomBytes(70) },
  'a long signature': { signature: () => Buffer.alloc(500_000) },
  'the handle of another user': { userHandle: handleOf(other.id) },
  'no handle': { userHandle: null },
  'an empty handle': { userHandle: '' },
  'a key pair that has become capable of backups': { backupEligible: false, backedUp: false },
};

/** Changes to the JSON. */
const forms: Record<string, (credential: PasskeyCredential) => object> = {
  'an unknown credential': (credential) => ({ ...credential, id: 'AAAA', rawId: 'AAAA' }),
  'the credential of another user': (credential) => ({
    ...credential,
    id: otherPasskey.credentialId,
    rawId: otherPasskey.credentialId,
  }),
  'two different IDs': (credential) => ({ ...credential, rawId: 'AAAA' }),
  'an empty ID': (credential) => ({ ...credential, id: '', rawId: '' }),
  'a long ID': (credential) => ({ ...credential, id: 'A'.repeat(100_000), rawId: 'A'.repeat(100_000) }),
  'an ID that is no base64url': (credential) => ({ ...credential, id: '<>', rawId: '<>' }),
  'another type': (credential) => ({ ...credential, type: 'password' }),
  'a text that is no base64url': (credential) => ({
    ...credential,
    response: { ...credential.response, signature: '!?' },
  }),
};

t.test('every faulty response of a passkey gets the same refusal', async (t) => {
  const bodies = new Set<string>();
  await assertUnchanged(t, app, 'faulty responses', async () => {
    const send = async (credential: object, what: string) => {
      const response = await post('/auth/passkey', { credential });
      refused(t, response, 'INVALID_CREDENTIALS', what);
      bodies.add(response.body);
      t.match(
        await recorded(app, response.headers['x-request-id']),
        [{ action: 'login', reason: 'wrong_passkey' }],
        what,
      );
    };
    for (const [what, changes] of Object.entries(ofAssertion))
      await send(await assertion(service, passkey, changes), what);
    for (const [what, change] of Object.entries(forms)) await send(change(await assertion(service, passkey)), what);
    await send(passkey.get(await creationOptions(service, headers)), 'a challenge for adding a passkey');
    const { challenge } = await requestOptions(service);
    const bytes = Buffer.from(challenge, 'base64url');
    for (const at of [0, 7, 8, 23, 24, bytes.length - 1]) {
      const changed = Buffer.from(bytes.map((byte, index) => (index === at ? byte ^ 1 : byte)));
      await send(passkey.get({ challenge: base64url(changed) }), `a challenge with byte ${at} changed`);
    }
    const stranger = createAuthenticator();
    stranger.create({ challenge: '', user: { id: handleOf(user) } });
    await send(await assertion(service, stranger), 'an authenticator that was never added');
  });
  t.equal(bodies.size, 1);
  t.ok(Object.keys(ofAssertion).length + Object.keys(forms).length >= 40);
  t.equal((await signIn(service, passkey)).statusCode, 200, 'the passkey still works');
});

t.test('what is not even the form of a response is an invalid request', async (t) => {
  const credential = await assertion(service, passkey);
  const { response } = credential;
  for (const bad of [
    ...[
      null,
      7,
      'text',
      [],
      {},
      { ...credential, id: 7 },
      { ...credential, id: '\0' },
      { ...credential, response: null },
    ],
    { ...credential, response: { ...response, signature: ['x'] } },
    { ...credential, response: { ...response, userHandle: 7 } },
  ]) {
    refused(t, await post('/auth/passkey', { credential: bad }), 'INVALID_PAYLOAD', JSON.stringify(bad)?.slice(0, 60));
  }
  refused(t, await post('/auth/passkey', { credential, more: 1 }), 'INVALID_PAYLOAD', 'an unknown key');
  t.equal((await post('/auth/passkey', { credential })).statusCode, 200);
});

const ofRegistration: Record<string, Changes> = {
  ...common,
  'an unknown format': { attestation: () => ({ fmt: 'made-up', attStmt: new Map() }) },
  'a statement without a format': { attestation: () => ({ fmt: 'none', attStmt: new Map([['sig', 'x']]) }) },
  'self attestation with a wrong signature': {
    attestation: (data, hash, signWith) => ({
      fmt: 'packed',
      attStmt: new Map<string, number | Buffer>([
        ['alg', -7],
        ['sig', flip(signWith(Buffer.concat([data, hash])))],
      ]),
    }),
  },
  'self attestation without a signature': { attestation: () => ({ fmt: 'packed', attStmt: new Map([['alg', -7]]) }) },
  'an attestation object that is no CBOR': { attestationObject: () => Buffer.from([0xff, 0xff]) },
  'an attestation object that is a number': { attestationObject: () => cbor(7) },
  'an attestation object that is a list': { attestationObject: () => cbor([]) },
  'an empty map': { attestationObject: () => cbor(new Map()) },
  'deep nesting': { attestationObject: () => nested(40_000) },
  'deep nesting beyond the limit': { attestationObject: () => nested(500_000) },
  'a list that announces four billion items': { attestationObject: () => Buffer.from([0x9a, 0xff, 0xff, 0xff, 0xff]) },
  'a truncated object': { attestationObject: (object) => object.subarray(0, object.length - 20) },
  'an empty object': { attestationObject: () => Buffer.alloc(0) },
  'a credential ID of 1024 bytes': { credentialId: randomBytes(1024) },
  'an empty credential ID': { credentialId: Buffer.alloc(0) },
};

t.test('every faulty new passkey gets the same refusal', async (t) => {
  const bodies = new Set<string>();
  await assertUnchanged(t, app, 'faulty passkeys', async () => {
    const send = async (credential: object, what: string) => {
      const response = await post('/users/me/passkeys', { credential }, headers);
      refused(t, response, 'INVALID_PAYLOAD', what);
      bodies.add(response.body);
    };
    for (const [what, changes] of Object.entries(ofRegistration)) {
      await send(createAuthenticator().create(await creationOptions(service, headers), changes), what);
    }
    const credentialOf = async (): Promise<RegistrationCredential> =>
      createAuthenticator().create(await creationOptions(service, headers));
    const credential = await credentialOf();
    await send({ ...credential, id: 'AAAA', rawId: 'AAAA' }, 'an ID that the authenticator did not sign');
    await send({ ...credential, rawId: 'AAAA' }, 'two different IDs');
    await send({ ...credential, type: 'password' }, 'another type');
    const unsupported = createAuthenticator({ algorithm: 'ES384' });
    await send(unsupported.create(await creationOptions(service, headers)), 'an algorithm that is not supported');
    const options = { ...(await creationOptions(service, headers)), ...(await requestOptions(service)) };
    await send(createAuthenticator().create(options), 'a challenge for signing in');
    const foreign = await creationOptions(service, otherHeaders);
    await send(createAuthenticator().create(foreign), 'the challenge of another user');
    await send(passkey.create(await creationOptions(service, headers)), 'a passkey that the user already has');
    await send(otherPasskey.create(await creationOptions(service, headers)), 'the passkey of another user');
  });
  t.equal(bodies.size, 1);
});

t.test('a challenge for adding a passkey can be used once', async (t) => {
  const options = await creationOptions(service, headers);
  const add = () => post('/users/me/passkeys', { credential: createAuthenticator().create(options) }, headers);
  const statuses = (await Promise.all(Array.from({ length: 10 }, add))).map(({ statusCode }) => statusCode).sort();
  t.strictSame(statuses, [200, ...Array(9).fill(400)]);
});

t.test('self attestation is verified, and certificates are ignored', async (t) => {
  const self: Changes = {
    attestation: (data, hash, signWith) => ({
      fmt: 'packed',
      attStmt: new Map<string, number | Buffer>([
        ['alg', -7],
        ['sig', signWith(Buffer.concat([data, hash]))],
      ]),
    }),
  };
  const credential = createAuthenticator().create(await creationOptions(service, headers), self);
  t.equal((await post('/users/me/passkeys', { credential }, headers)).statusCode, 200, 'self attestation');
});

t.test('certificates in a new passkey cause no requests to other servers', async (t) => {
  // Certificates name servers with revocation lists, and an attacker could name one in the network of the service.
  let requests = 0;
  const server = createServer((_request, response) => {
    requests += 1;
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const chain = await certificatesThatName(`http://127.0.0.1:${port}/list.crl`);
  for (const fmt of ['packed', 'fido-u2f', 'tpm', 'android-key', 'android-safetynet', 'apple']) {
    const attestation: Changes['attestation'] = (data, hash, signWith) => ({
      fmt,
      attStmt: new Map<string, number | Buffer | Buffer[]>([
        ['alg', -7],
        ['sig', signWith(Buffer.concat([data, hash]))],
        ['x5c', chain],
      ]),
    });
    const credential = createAuthenticator().create(await creationOptions(service, headers), { attestation });
    const { statusCode, body } = await post('/users/me/passkeys', { credential }, headers);
    t.equal(statusCode, 200, `${fmt}: ${body}`);
    t.notMatch(body, fmt);
  }
  t.equal(requests, 0);

  // Without this protection, the library does send a request for such a chain, so the server would have noticed it.
  const pem = (der: Buffer) => `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`;
  const [leaf = '', root = ''] = chain.map(pem);
  await validateCertificatePath([leaf], [root]).catch(() => {});
  t.equal(requests, 1);
});

/** A certificate that names a revocation list, and the one that issued it, in DER. */
async function certificatesThatName(list: string): Promise<Buffer[]> {
  const folder = await mkdtemp(join(tmpdir(), 'certificates-'));
  const at = (name: string) => join(folder, name);
  const openssl = (...parameters: string[]) => execFileSync('openssl', parameters, { stdio: 'pipe' });
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  try {
    openssl(
      'req',
      '-x509',
      ...curve,
      '-subj',
      '/CN=Root',
      '-keyout',
      at('root.key'),
      '-out',
      at('root.pem'),
      '-days',
      '9',
    );
    const subject = '/C=DE/O=Example/OU=Authenticator Attestation/CN=Leaf';
    openssl('req', ...curve, '-subj', subject, '-keyout', at('leaf.key'), '-out', at('leaf.csr'));
    await writeFile(at('extensions'), `basicConstraints=CA:FALSE\ncrlDistributionPoints=URI:${list}\n`);
    const issuer = ['-CA', at('root.pem'), '-CAkey', at('root.key'), '-CAcreateserial'];
    openssl(
      'x509',
      '-req',
      '-in',
      at('leaf.csr'),
      ...issuer,
      '-days',
      '9',
      '-extfile',
      at('extensions'),
      '-out',
      at('leaf.pem'),
    );
    return await Promise.all(
      ['leaf.pem', 'root.pem'].map(async (name) => {
        const lines = (await readFile(at(name), 'utf8')).split('\n').filter((line) => !line.startsWith('-----'));
        return Buffer.from(lines.join(''), 'base64');
      }),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}
