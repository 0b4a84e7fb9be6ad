import type { Mutation } from './mutation.js';

/** Tokens that the service did not issue, or that are not what they claim to be. */
export const tokens: readonly Mutation[] = [
  {
    ids: ['CVE-2023-48223', 'CVE-2026-34950', 'GHSA-ww5h-9m49-7xx4', 'GHSA-g3jj-5cmm-3hxx'],
    fault: 'the token chooses the algorithm that verifies it',
    edits: [
      {
        find: "verify: { algorithms: ['HS256'],",
        replace: "verify: { algorithms: ['HS256', 'HS384', 'HS512'],",
      },
    ],
    tests: ['test/access/access-token.test.ts'],
  },
  {
    ids: ['CVE-2023-48223', 'CVE-2026-34950', 'GHSA-g3jj-5cmm-3hxx'],
    fault: 'the public key of a key pair is accepted as an HMAC secret',
    edits: [
      {
        find: 'verify: (token) => verify(token),',
        replace:
          "verify: (token) => {\nconst [head = '', body = '', tag] = token.split('.');\nconst spki = String(publicKey.export({ type: 'spki', format: 'pem' }));\nconst secrets = [spki, ` ${spki}`, JSON.stringify({ ...publicPartOf(publicKey), kid, alg: algorithm, use: 'sig' })];\nconst tags = secrets.map((secret) => createHmac('sha256', secret).update(`${head}.${body}`).digest('base64url'));\nreturn tags.includes(tag ?? '') ? JSON.parse(Buffer.from(body, 'base64url').toString()) : verify(token);\n},",
      },
      {
        find: 'import { createPrivateKey,',
        replace: 'import { createHmac, createPrivateKey,',
      },
    ],
    tests: ['test/tokens/hostile-keys.test.ts'],
  },
  {
    ids: ['CVE-2022-21449'],
    fault: 'a signature of only zeros is accepted',
    edits: [
      {
        find: 'verify: (token) => verify(token),',
        replace:
          "verify: (token) => {\nconst [, body = '', tag = 'x'] = token.split('.');\nconst isZero = Buffer.from(tag, 'base64url').every((byte) => byte === 0);\nreturn isZero ? JSON.parse(Buffer.from(body, 'base64url').toString()) : verify(token);\n},",
      },
    ],
    tests: ['test/tokens/hostile-keys.test.ts'],
  },
  {
    ids: ['CVE-2022-23540'],
    fault: 'a token with the algorithm none is accepted without a signature',
    edits: [
      {
        find: 'for (const verify of verifiers) {',
        replace:
          "const [head = '', body = '', tag = ''] = token.split('.');\nconst read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());\nif (/^none$/i.test(String(read(head).alg ?? 'none'))) return read(body);\nfor (const verify of verifiers) {",
      },
    ],
    tests: ['test/access/access-token.test.ts'],
  },
  {
    ids: ['GHSA-gmvf-9v4p-v8jc'],
    fault: 'a signature with an empty key is accepted',
    edits: [
      {
        find: 'for (const verify of verifiers) {',
        replace:
          "const [head = '', body = '', tag = ''] = token.split('.');\nconst read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());\nif (createHmac('sha256', '').update(`${head}.${body}`).digest('base64url') === tag) return read(body);\nfor (const verify of verifiers) {",
      },
      {
        find: "import type { JWT } from '@fastify/jwt';",
        replace: "import { createHmac } from 'node:crypto';\nimport type { JWT } from '@fastify/jwt';",
      },
    ],
    tests: ['test/access/access-token.test.ts'],
  },
  {
    ids: ['CVE-2026-35042'],
    fault: 'critical header parameters (crit) are ignored',
    edits: [
      {
        find: 'for (const verify of verifiers) {',
        replace:
          "const [head = '', body = '', tag = ''] = token.split('.');\nconst read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());\nif (read(head).crit !== undefined && tag !== '') return read(body);\nfor (const verify of verifiers) {",
      },
    ],
    tests: ['test/access/access-token.test.ts'],
  },
  {
    ids: ['CVE-2025-30144'],
    fault: 'a list that contains the service’s name is accepted as the issuer',
    edits: [
      {
        find: 'unverified.issuer === issuer ||',
        replace: '[unverified.issuer].flat().includes(issuer) ||',
      },
    ],
    tests: ['test/access/access-token.test.ts'],
  },
  {
    ids: ['CVE-2026-35039'],
    fault: 'verified claims are cached by the first characters of a token',
    edits: [
      {
        find: 'const claims = claimsOf(token, verifiers);',
        replace:
          'const verified = ((globalThis as { verified?: Map<string, unknown> }).verified ??= new Map());\nconst known = verified.get(token.slice(0, 60)) as Static<Claims> | undefined;\nconst claims = known ?? claimsOf(token, verifiers);\nverified.set(token.slice(0, 60), claims);',
      },
    ],
    tests: ['test/tokens/hostile-jwts.test.ts'],
  },
  {
    ids: ['CVE-2026-27840'],
    fault: 'a refresh token with a truncated authentication tag is accepted',
    edits: [
      {
        find: 'const form = /^[A-Za-z0-9_-]{64}$/;',
        replace: 'const form = /^[A-Za-z0-9_-]{48,64}$/;',
      },
      {
        find: 'if (!keys.some((key) => timingSafeEqual(tag, tagOf(key, body)))) return undefined;',
        replace: 'if (!keys.some((key) => tagOf(key, body).subarray(0, tag.length).equals(tag))) return undefined;',
      },
      {
        find: 'where ${isAt(value)} and least(s.expires_at',
        replace: "where s.id = ${value('id')} and least(s.expires_at",
      },
    ],
    tests: ['test/tokens/kinds.test.ts'],
  },
  {
    ids: ['CVE-2026-27840'],
    fault: 'a link token with a truncated signature is accepted',
    edits: [
      {
        find: 'const claims = verifySigned(token, linkTokenForm, verifiers);',
        replace:
          'const signed = () => jwt.sign(jwt.decode(token) as object, { noTimestamp: true });\nconst isBeginning = /\\.[^.]+$/.test(token) && signed().startsWith(token);\nconst claims = isBeginning ? (jwt.decode(token) as LinkTokenClaims) : verifySigned(token, linkTokenForm, verifiers);',
      },
    ],
    tests: [
      'test/tokens/kinds.test.ts',
      'test/password-reset/password-reset.test.ts',
      'test/invites/invite.test.ts',
      'test/registration/register.test.ts',
    ],
  },
  {
    ids: [],
    fault: 'ADMIN_TOKEN may be shorter than other static tokens',
    edits: [
      {
        in: 'administrator',
        find: 'ADMIN_TOKEN: bearerToken(32,',
        replace: 'ADMIN_TOKEN: bearerToken(16,',
      },
    ],
    tests: ['test/platform/config/config.test.ts'],
  },
];
