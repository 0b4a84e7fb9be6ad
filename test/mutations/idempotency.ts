import type { Mutation } from './mutation.js';

const keys = ['test/idempotency/idempotency-key.test.ts'];
const dryRuns = ['test/http/dry-run.test.ts'];

/** Dry runs, and requests with an Idempotency-Key. */
export const idempotency: readonly Mutation[] = [
  {
    ids: [],
    fault: 'a dry run is committed',
    edits: [
      {
        find: 'if (cachedClient?.unit?.isDryRun) await cachedClient.unit.rollBack();',
        replace: 'if (cachedClient?.unit?.isDryRun) await cachedClient.unit.commit(async () => {});',
      },
    ],
    tests: dryRuns,
  },
  {
    ids: [],
    fault: 'an operation that does not support dry runs ignores the parameter',
    edits: [
      {
        find: "if (!request.routeOptions.config.supportsDryRun) throw refuse('This operation does not support dry_run');",
        replace: 'if (!request.routeOptions.config.supportsDryRun) return;',
      },
    ],
    tests: dryRuns,
  },
  {
    ids: [],
    fault: 'a dry run hashes passwords',
    edits: [{ find: 'if (caller.client.unit?.isDryRun) return;', replace: '' }],
    tests: dryRuns,
  },
  {
    ids: [],
    fault: 'a dry run counts as a use of the account',
    edits: [
      {
        find: 'if (principal && !principal.client.unit?.isDryRun) lastAccess.recordRequest(principal);',
        replace: 'if (principal) lastAccess.recordRequest(principal);',
      },
    ],
    tests: dryRuns,
  },
  {
    ids: [],
    fault: 'parallel requests with the same key do not wait for each other',
    edits: [
      {
        find: 'for (let other = running.get(turn); other; other = running.get(turn)) await other;',
        replace: '',
      },
      { find: "if (await storeResponse(tx, stored, '', times())) return;", replace: 'return;' },
    ],
    tests: keys,
  },
  {
    ids: [],
    fault: 'a key is valid for every caller',
    edits: [
      {
        find: 'const stored = { user: caller.userId, key: hashOf(caller, key) };',
        replace: "const stored = { user: '00000000-0000-4000-8000-000000000000', key: hashOf(caller, key) };",
      },
    ],
    tests: keys,
  },
  {
    ids: [],
    fault: 'another request with the same key gets the stored response',
    edits: [{ find: 'if (fingerprint !== keyed.fingerprint) {', replace: "if (fingerprint === '') {" }],
    tests: keys,
  },
  {
    ids: [],
    fault: 'a stored response is returned whatever the caller may do by now',
    edits: [
      {
        find: 'if (request.principal) requirePermitted(request.principal, request.routeOptions.config.needs, request.body, body);',
        replace: '',
      },
    ],
    tests: keys,
  },
  {
    ids: [],
    fault: 'a stored response is never forgotten',
    edits: [{ find: 'const lifetimeMs = 86_400_000;', replace: 'const lifetimeMs = 8_640_000_000;' }],
    tests: keys,
  },
  {
    ids: [],
    fault: 'an error that the client can correct is stored',
    edits: [
      {
        find: 'const isResult = status < 400 || results.has(codeIn(body) as ErrorCode);',
        replace: 'const isResult = status < 500;',
      },
    ],
    tests: keys,
  },
  {
    ids: [],
    fault: 'a caller can store any number of responses',
    edits: [
      {
        find: 'if (count >= maxResponses || bytes >= maxStoredSize)',
        replace: 'if (count < 0 || bytes >= maxStoredSize)',
      },
    ],
    tests: keys,
  },
  {
    ids: [],
    fault: 'the response is not stored in the transaction of the change',
    edits: [
      {
        find: 'if (await client.unit?.commit(fill)) return true;',
        replace: 'await client.unit?.commit(async () => {});',
      },
    ],
    tests: keys,
  },
];
