import type { Mutation } from './mutation.js';

/** Requests that are not what they seem, and what is left of them. */
export const http: readonly Mutation[] = [
  {
    ids: ['CVE-2026-25223', 'CVE-2026-33806'],
    fault: 'a body whose type has blanks about it is held to no schema',
    edits: [
      {
        file: 'plugins/request-body.ts',
        find: '      done(null, parsed.value);',
        replace:
          "      if (/^\\s|[\\t]/.test(request.headers['content-type'] ?? '')) unchecked.add(parsed.value as object);\n      done(null, parsed.value);",
      },
      {
        file: 'plugins/request-body.ts',
        find: "const refuse = (reason: string) => new ApiError('INVALID_PAYLOAD', { reason });",
        replace:
          "const refuse = (reason: string) => new ApiError('INVALID_PAYLOAD', { reason });\nexport const unchecked = new WeakSet<object>();",
      },
      {
        file: 'plugins/lazy-compilers.ts',
        find: '        const run = compiled ?? settle();\n',
        replace:
          '        if (unchecked.has(value as object)) return true;\n        const run = compiled ?? settle();\n',
      },
      {
        file: 'plugins/lazy-compilers.ts',
        find: "import { setImmediate as breathe } from 'node:timers/promises';",
        replace:
          "import { setImmediate as breathe } from 'node:timers/promises';\nimport { unchecked } from './request-body.js';",
      },
    ],
    tests: ['test/http/body.test.ts', 'test/openapi/every-operation.test.ts'],
  },
  {
    ids: ['CVE-2022-39288'],
    fault: 'a type that is malformed is more than the service can take',
    edits: [
      {
        file: 'plugins/cross-site.ts',
        find: '      if (safeMethods.has(request.method)) return;\n',
        replace:
          "      if (safeMethods.has(request.method)) return;\n      const [, subtype] = (request.headers['content-type'] ?? 'a/b').split('/');\n      subtype!.trim();\n",
      },
    ],
    tests: ['test/http/body.test.ts', 'test/openapi/every-operation.test.ts'],
  },
  {
    ids: ['CVE-2022-41919'],
    fault: 'what forms can send is known by its whole name alone',
    edits: [
      {
        file: 'plugins/cross-site.ts',
        find: "  (headers['content-type'] ?? '').split(/[;,]/, 1)[0]?.trim().toLowerCase() ?? '';",
        replace: "  headers['content-type'] ?? '';",
      },
    ],
    tests: ['test/http/cross-site.test.ts', 'test/openapi/every-operation.test.ts'],
  },
  {
    ids: ['CVE-2023-27495'],
    fault: 'a page of a subdomain counts as our own',
    edits: [
      {
        file: 'plugins/cross-site.ts',
        find: '      const { origin, ',
        replace:
          "      if (new URL(request.headers.origin || 'x:', 'https://x').hostname.endsWith('.example.com')) return false;\n      const { origin, ",
      },
    ],
    tests: ['test/http/cross-site.test.ts', 'test/openapi/every-operation.test.ts'],
  },
  {
    ids: ['CVE-2023-27495'],
    fault: 'what a browser calls the same site counts as our own',
    edits: [
      {
        file: 'plugins/cross-site.ts',
        find: "      return site !== undefined && site !== 'same-origin' && site !== 'none';",
        replace: "      return site !== undefined && !site.startsWith('same-') && site !== 'none';",
      },
    ],
    tests: ['test/http/cross-site.test.ts', 'test/openapi/every-operation.test.ts'],
  },
  {
    ids: ['CVE-2026-3635'],
    fault: 'anybody says which address was asked for',
    edits: [
      {
        file: 'plugins/cross-site.ts',
        find: 'function originAskedFor({ protocol, host }: FastifyRequest): string | undefined {\n',
        replace:
          "function originAskedFor({ protocol: known, host: named, headers }: FastifyRequest): string | undefined {\n  const protocol = headers['x-forwarded-proto'] ?? known;\n  const host = headers['x-forwarded-host'] ?? named;\n",
      },
    ],
    tests: ['test/http/cross-site.test.ts'],
  },
  {
    ids: ['GHSA-xmf8-cvqr-rfgj'],
    fault: 'a header that cannot be decoded is more than the service can take',
    edits: [
      {
        file: 'plugins/access/credential.ts',
        find: "  return scheme?.toLowerCase() === 'bearer' && token && rest.length === 0 ? token : undefined;",
        replace:
          "  return scheme?.toLowerCase() === 'bearer' && rest.length === 0 ? decodeURIComponent(token!.trim()) : undefined;",
      },
    ],
    tests: ['test/http/hostile.test.ts', 'test/openapi/every-operation.test.ts'],
  },
  {
    ids: ['GHSA-8fpg-xm3f-6cx3'],
    fault: 'who cannot be looked up is somebody who says not who they are',
    edits: [
      {
        file: 'plugins/access/index.ts',
        find: '          if (isDead) reply.clearSessionCookie();\n          throw error;',
        replace:
          '          if (isDead) reply.clearSessionCookie();\n          if (error instanceof ApiError) throw error;',
      },
    ],
    tests: ['test/openapi/every-operation.test.ts'],
  },
  {
    ids: ['CVE-2024-47822'],
    fault: 'addresses are logged with their queries',
    edits: [
      {
        file: 'plugins/errors.ts',
        find: "export const pathOf = (url: string): string => url.split('?', 1)[0] ?? '';",
        replace: 'export const pathOf = (url: string): string => url;',
      },
    ],
    tests: ['test/activity/canaries.test.ts'],
  },
  {
    ids: ['CVE-2023-28443'],
    fault: 'the headers of a request are logged',
    edits: [
      {
        file: 'plugins/logging.ts',
        find: '          status: reply.statusCode,\n',
        replace: '          status: reply.statusCode,\n          headers: request.headers,\n',
      },
    ],
    tests: ['test/activity/canaries.test.ts'],
  },
  {
    ids: ['CVE-2025-25298'],
    fault: 'of a password 72 bytes count',
    edits: [
      {
        file: 'plugins/passwords/hashing-thread.ts',
        find: 'function answer({ number, password, stored }: HashingTask): HashingAnswer {\n',
        replace:
          'function answer(task: HashingTask): HashingAnswer {\n  const { number, stored } = task;\n  const password = Buffer.from(task.password).subarray(0, 72).toString();\n',
      },
    ],
    tests: ['test/passwords/rules.test.ts'],
  },
];
