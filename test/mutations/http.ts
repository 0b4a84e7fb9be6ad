import type { Mutation } from './mutation.js';

/** Misleading requests, and what remains of requests in logs and on disk. */
export const http: readonly Mutation[] = [
  {
    ids: ['CVE-2026-25223', 'CVE-2026-33806'],
    fault: 'a body is not validated if its content type contains extra whitespace',
    edits: [
      {
        find: 'done(null, parsed.value);',
        replace:
          "if (/^\\s|[\\t]/.test(request.headers['content-type'] ?? '')) unchecked.add(parsed.value as object);\ndone(null, parsed.value);",
      },
      {
        under: 'plugins/http/request-parsing.ts',
        find: "const refuse = (reason: string) => new ApiError('INVALID_PAYLOAD', { reason });",
        replace:
          "const refuse = (reason: string) => new ApiError('INVALID_PAYLOAD', { reason });\nexport const unchecked = new WeakSet<object>();",
      },
      {
        find: 'const run = compiled ?? compileNow();',
        replace: 'if (unchecked.has(value as object)) return true;\nconst run = compiled ?? compileNow();',
      },
      {
        find: "import { setImmediate as breathe } from 'node:timers/promises';",
        replace:
          "import { setImmediate as breathe } from 'node:timers/promises';\nimport { unchecked } from './request-parsing.js';",
      },
    ],
    tests: ['test/http/body.test.ts', 'test/openapi/every-operation.test.ts'],
  },
  {
    ids: ['CVE-2022-39288'],
    fault: 'a malformed content type causes an internal error',
    edits: [
      {
        find: 'if (safeMethods.has(request.method)) return;',
        replace:
          "if (safeMethods.has(request.method)) return;\nconst [, subtype] = (request.headers['content-type'] ?? 'a/b').split('/');\nsubtype!.trim();",
      },
    ],
    tests: ['test/http/body.test.ts', 'test/openapi/every-operation.test.ts'],
  },
  {
    ids: ['CVE-2022-41919'],
    fault: 'a content type that forms can send is recognized only without parameters',
    edits: [
      {
        find: "(headers['content-type'] ?? '').split(/[;,]/, 1)[0]?.trim().toLowerCase() ?? '';",
        replace: "headers['content-type'] ?? '';",
      },
    ],
    tests: ['test/http/csrf.test.ts', 'test/openapi/every-operation.test.ts'],
  },
  {
    ids: ['CVE-2023-27495'],
    fault: 'a page on a subdomain is treated as same-origin',
    edits: [
      {
        in: 'isForeign',
        find: 'const { origin,',
        replace:
          "if (new URL(request.headers.origin || 'x:', 'https://x').hostname.endsWith('.example.com')) return false;\nconst { origin,",
      },
    ],
    tests: ['test/http/csrf.test.ts', 'test/openapi/every-operation.test.ts'],
  },
  {
    ids: ['CVE-2023-27495'],
    fault: 'a same-site request is treated as same-origin',
    edits: [
      {
        find: "return site !== undefined && site !== 'same-origin' && site !== 'none';",
        replace: "return site !== undefined && !site.startsWith('same-') && site !== 'none';",
      },
    ],
    tests: ['test/http/csrf.test.ts', 'test/openapi/every-operation.test.ts'],
  },
  {
    ids: ['CVE-2026-3635'],
    fault: 'any client can choose the requested origin with X-Forwarded headers',
    edits: [
      {
        find: 'function originAskedFor({ protocol, host }: FastifyRequest): string | undefined {',
        replace:
          "function originAskedFor({ protocol: known, host: named, headers }: FastifyRequest): string | undefined {\nconst protocol = headers['x-forwarded-proto'] ?? known;\nconst host = headers['x-forwarded-host'] ?? named;",
      },
    ],
    tests: ['test/http/csrf.test.ts'],
  },
  {
    ids: ['GHSA-xmf8-cvqr-rfgj'],
    fault: 'a header that cannot be decoded causes an internal error',
    edits: [
      {
        find: "return scheme?.toLowerCase() === 'bearer' && token && rest.length === 0 ? token : undefined;",
        replace:
          "return scheme?.toLowerCase() === 'bearer' && rest.length === 0 ? decodeURIComponent(token!.trim()) : undefined;",
      },
    ],
    tests: ['test/http/hostile.test.ts', 'test/openapi/every-operation.test.ts'],
  },
  {
    ids: ['GHSA-8fpg-xm3f-6cx3'],
    fault: 'a caller whose lookup fails is treated as anonymous',
    edits: [
      {
        find: "if (!isCookie || rule !== 'anonymous') throw error;",
        replace: "if ((!isCookie || rule !== 'anonymous') && error instanceof ApiError) throw error;",
      },
    ],
    tests: ['test/openapi/every-operation.test.ts'],
  },
  {
    ids: [],
    fault: 'a malformed key in a path returns another error than a key that does not exist',
    edits: [
      {
        find: "if (part === 'params') return new ApiError('FORBIDDEN');",
        replace: '',
      },
    ],
    tests: ['test/access/order.test.ts'],
  },
  {
    ids: [],
    fault: 'any notation of a number is accepted as an integer',
    edits: [
      {
        find: "typeof value === 'string' && /^-?\\d{1,16}$/.test(value) ? Number(value) : value",
        replace: "typeof value === 'string' ? Number(value) : value",
      },
    ],
    tests: ['test/items/query-language.test.ts'],
  },
  {
    ids: ['CVE-2024-47822'],
    fault: 'URLs are logged with their query strings',
    edits: [
      {
        find: "export const pathOf = (url: string): string => url.split('?', 1)[0] ?? '';",
        replace: 'export const pathOf = (url: string): string => url;',
      },
    ],
    tests: ['test/activity/canaries.test.ts'],
  },
  {
    ids: ['CVE-2023-28443'],
    fault: 'request headers are logged',
    edits: [
      {
        in: 'logRequest',
        find: '...outcome,',
        replace: '...outcome,\nheaders: request.headers,',
      },
    ],
    tests: ['test/activity/canaries.test.ts'],
  },
  {
    ids: ['CVE-2025-25298'],
    fault: 'only the first 72 bytes of a password are hashed',
    edits: [
      {
        find: "const normalized = (password: string): string => password.normalize('NFC');",
        replace: 'const normalized = (password: string): string => Buffer.from(password).subarray(0, 72).toString();',
      },
    ],
    tests: ['test/passwords/rules.test.ts'],
  },
  {
    ids: [],
    fault: 'a request with two Host headers is accepted',
    edits: [
      {
        in: 'findFramingFault',
        find: 'if (hosts > 1) return',
        replace: 'if (hosts > 9) return',
      },
    ],
    tests: ['test/http/raw-socket.test.ts'],
  },
  {
    ids: [],
    fault: 'the connection stays open after an ambiguously framed request',
    edits: [
      {
        find: "if (findFramingFault(request.raw) !== undefined) reply.header('connection', 'close');",
        replace: '',
      },
    ],
    tests: ['test/http/raw-socket.test.ts'],
  },
  {
    ids: [],
    fault: 'a forwarded address with a port is not an address',
    edits: [
      {
        in: 'bareAddress',
        find: 'inBrackets ?? withoutBrackets ?? text',
        replace: 'inBrackets ?? text',
      },
    ],
    tests: ['test/http/forwarded-addresses.test.ts'],
  },
  {
    ids: [],
    fault: 'a proxy that is forwarded with its port is not trusted',
    edits: [
      {
        in: 'trustsProxyOf',
        find: 'return (entry) => isTrusted(bareAddress(entry));',
        replace: 'return (entry) => isTrusted(isIP(entry) === 0 ? null : entry);',
      },
    ],
    tests: ['test/http/forwarded-addresses.test.ts'],
  },
  {
    ids: [],
    fault: 'any client can choose the ID of its requests',
    edits: [
      {
        find: "return trustsProxy(socket.remoteAddress ?? '', 0) ? given : randomUUID();",
        replace: "return trustsProxy(socket.remoteAddress ?? '', 0) || true ? given : randomUUID();",
      },
    ],
    tests: ['test/http/routing.test.ts', 'test/activity/refusals.test.ts'],
  },
  {
    ids: [],
    fault: 'the data folder keeps its permissions',
    edits: [
      {
        find: 'return isPrivate(restrict(directory)) ? directory : undefined;',
        replace: 'return directory;',
      },
    ],
    tests: ['test/db/bootstrap.test.ts'],
  },
  {
    ids: [],
    fault: 'the first password is written through a symbolic link',
    edits: [
      {
        find: "writeFileSync(draft, content, { mode: 0o600, flag: 'wx', flush: true });\n    renameSync(draft, path);",
        replace: 'writeFileSync(path, content, { mode: 0o600, flush: true });',
      },
    ],
    tests: ['test/db/bootstrap.test.ts'],
  },
  {
    ids: [],
    fault: 'after an address exceeds its limit, a wrong password for an account known there gets a different response',
    edits: [
      {
        find: 'const exceeded = error instanceof ApiError ? await countForAddress() : null;',
        replace: 'const exceeded = error instanceof ApiError ? ((await counting) ?? null) : null;',
      },
    ],
    tests: ['test/rate-limits/networks.test.ts'],
  },
  {
    ids: [],
    fault: 'after an address exceeds its limit, passwords for accounts unknown there are still hashed',
    edits: [
      {
        in: 'verifyBy',
        find: 'isOverLimit ? undefined :',
        replace: '',
      },
    ],
    tests: ['test/rate-limits/networks.test.ts'],
  },
  {
    ids: [],
    fault: 'a lock that was set by a wrong clock is not shortened',
    edits: [
      {
        find: 'const until = Math.min(found, now.getTime() + lockRules.maxLockMs);',
        replace: 'const until = found;',
      },
    ],
    tests: ['test/rate-limits/clocks.test.ts'],
  },
  {
    ids: [],
    fault: 'a request with localhost as its host can read the mailbox',
    edits: [
      {
        find: 'if (key === undefined && access.hasCookie(request.headers.cookie)) return;',
        replace:
          "if (key === undefined && (request.host.startsWith('localhost') || access.hasCookie(request.headers.cookie))) return;",
      },
    ],
    tests: ['test/mail/mailbox.test.ts'],
  },
  {
    ids: [],
    fault: 'a misspelled variable is ignored',
    edits: [
      {
        find: 'intended === undefined ? [] :',
        replace: 'intended !== name ? [] :',
      },
    ],
    tests: ['test/platform/config/misspelled-variables.test.ts'],
  },
  {
    ids: [],
    fault: 'the login mode has a default, so generated clients require it',
    edits: [
      {
        under: 'schemas/sessions.ts',
        find: 'mode: Type.Optional(SessionMode),',
        replace: "mode: Type.Optional({ ...SessionMode, default: 'json' }),",
      },
    ],
    tests: ['test/openapi/document.test.ts'],
  },
  {
    ids: [],
    fault: 'a body that never ends keeps its connection',
    edits: [
      {
        find: '!complete && readableFlowing === true',
        replace: 'false && !complete && readableFlowing === true',
      },
    ],
    tests: ['test/http/request-timeout.test.ts'],
  },
  {
    ids: [],
    fault: 'a slow service blames the client for a body that it has not read',
    edits: [
      {
        find: '!complete && readableFlowing === true',
        replace: '!complete || readableFlowing === true',
      },
    ],
    tests: ['test/http/request-timeout.test.ts'],
  },
  {
    ids: [],
    fault: 'limits by address do not apply to an IPv6 /48 as a whole',
    edits: [{ find: 'if (over || site === network) return over;', replace: 'if (over || site !== "") return over;' }],
    tests: ['test/rate-limits/networks.test.ts'],
  },
  {
    ids: [],
    fault: 'each network of an IPv6 /48 has a turn of its own for hashing passwords',
    edits: [{ find: 'siteOf(from.client.network)', replace: 'from.client.network' }],
    tests: ['test/rate-limits/networks.test.ts'],
  },
  {
    ids: [],
    fault: 'in a scope with another format of errors, an unknown route gets the error of the API',
    edits: [{ find: 'if (changes.formatError) this.setNotFoundHandler(refuseUnknown);', replace: '' }],
    tests: ['test/http/protocol-scope.test.ts'],
  },
  {
    ids: [],
    fault: 'a preflight for a scope with its own CORS gets the response of the API',
    edits: [{ find: 'if (changes.config?.cors) this.register(preflights);', replace: '' }],
    tests: ['test/http/protocol-scope.test.ts'],
  },
  {
    ids: [],
    fault: 'without CORS, a preflight gets the response of a route that is not there',
    edits: [
      {
        find: 'const isAllowed = CORS_ENABLED || request.routeOptions.config.cors !== undefined;',
        replace: 'const isAllowed = true;',
      },
    ],
    tests: ['test/http/protocol-scope.test.ts'],
  },
  {
    ids: [],
    fault: 'a scope that reads forms makes the API read them, too',
    edits: [
      {
        find: "bodies: ['json'], formatError, config: {} };",
        replace: "bodies: ['json', 'form'], formatError, config: {} };",
      },
    ],
    tests: ['test/http/protocol-scope.test.ts'],
  },
];
