import type { Mutation } from './mutation.js';

/** Requests to other servers, jobs, and what is announced in a transaction. */
export const platform: readonly Mutation[] = [
  {
    ids: [],
    fault: 'the HTTP client checks the address of a name, and then resolves the name again',
    edits: [
      {
        find: 'else if (lookupOptions.all) callback(null, addresses);',
        replace: 'else if (lookupOptions.all) lookup(host, { ...lookupOptions, all: true }, callback);',
      },
    ],
    tests: ['test/platform/http-client.test.ts'],
  },
  {
    ids: [],
    fault: 'the HTTP client checks only the first address of a name',
    edits: [
      {
        find: 'addresses.map(({ address }) => refusal(host, address))',
        replace: 'addresses.slice(0, 1).map(({ address }) => refusal(host, address))',
      },
    ],
    tests: ['test/platform/http-client.test.ts'],
  },
  {
    ids: [],
    fault: 'the HTTP client does not check an address in the URL',
    edits: [{ find: 'isIP(host) === 0 ? null : refusal(url.host, host)', replace: 'null' }],
    tests: ['test/platform/http-client.test.ts'],
  },
  {
    ids: [],
    fault: 'the HTTP client does not recognize an IPv6 address in the URL',
    edits: [{ find: "const host = url.hostname.replace(/^\\[|\\]$/g, '');", replace: 'const host = url.hostname;' }],
    tests: ['test/platform/http-client.test.ts'],
  },
  {
    ids: [],
    fault: 'all HTTP clients share their connections',
    edits: [
      {
        find: "const agents = { 'http:': new http.Agent(agentOptions), 'https:': new https.Agent(agentOptions) };",
        replace: "const agents = { 'http:': http.globalAgent, 'https:': https.globalAgent };",
      },
      { find: 'agent, signal })', replace: 'agent, signal, lookup: checkedLookup })' },
    ],
    tests: ['test/platform/http-client.test.ts'],
  },
  {
    ids: [],
    fault: 'a private IPv4 address can be reached through NAT64',
    edits: [
      {
        find: '(isNat64(address) ? isSpecialBehindNat64 : isSpecialV6)(address)',
        replace: '(isNat64(address) ? isSpecialV4 : isSpecialV6)(address)',
      },
    ],
    tests: ['test/platform/http-client.test.ts'],
  },
  {
    ids: [],
    fault: 'the body of a response can have any size',
    edits: [{ find: 'if (size <= maxBytes) continue;', replace: 'continue;' }],
    tests: ['test/platform/http-client.test.ts'],
  },
  {
    ids: [],
    fault: 'the HTTP client has no timeout of its own',
    edits: [
      {
        find: 'const signal = init.signal ? AbortSignal.any([init.signal, limit]) : limit;',
        replace: 'const signal = init.signal ?? new AbortController().signal;\nvoid limit;',
      },
    ],
    tests: ['test/platform/http-client.test.ts'],
  },
  {
    ids: [],
    fault: 'workers take more jobs while the service waits for another worker to stop',
    edits: [
      {
        in: 'jobsPlugin',
        find: 'stopped ??= stopAll();\n        await stopped;',
        replace: 'await worker?.stop();\n        void stopAll;\n        void stopped;',
      },
    ],
    tests: ['test/platform/jobs.test.ts'],
  },
  {
    ids: [],
    fault: 'a kind of job without a table is found only when a job is sent',
    edits: [{ find: 'if (!(await boss.getQueue(name)))', replace: 'if (name === "")' }],
    tests: ['test/platform/jobs.test.ts'],
  },
  {
    ids: [],
    fault: 'a job that fails permanently is tried as often as any other',
    edits: [{ find: 'isPermanent: isPermanent(error)', replace: 'isPermanent: isPermanent(error) && false' }],
    tests: ['test/platform/jobs.test.ts'],
  },
  {
    ids: [],
    fault: 'a login is committed before listeners store what happened',
    edits: [
      { find: 'isSeparable ? run(executor) : executor.transaction(run)', replace: '(void isSeparable, run(executor))' },
    ],
    tests: ['test/activity/listeners.test.ts'],
  },
  {
    ids: [],
    fault: 'a change is committed although a listener failed',
    edits: [
      {
        find: 'await listener.onRecord?.(tx, origin, relevant);',
        replace: 'await listener.onRecord?.(tx, origin, relevant).catch(() => {});',
      },
    ],
    tests: ['test/activity/listeners.test.ts'],
  },
];
