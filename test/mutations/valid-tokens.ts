import type { Mutation } from './mutation.js';

const compared = ['test/applications/valid-tokens.test.ts'];

/** Userinfo and introspection of valid tokens, without the library. */
export const validTokens: readonly Mutation[] = [
  {
    ids: [],
    fault: 'introspection says that a used refresh token is valid',
    edits: [
      {
        find: 'if (!record || record.consumed_ago !== null) return undefined;',
        replace: 'if (!record) return undefined;',
      },
    ],
    tests: compared,
  },
  {
    ids: [],
    fault: 'a token that is bound to a key is accepted without a proof',
    edits: [
      {
        find: 'if (clientId === undefined || isMetadataUrl(clientId) || jkt !== undefined) return undefined;',
        replace: 'if (clientId === undefined || isMetadataUrl(clientId)) return undefined;',
      },
    ],
    tests: compared,
  },
  {
    ids: [],
    fault: 'introspection does not compare the secret of the client',
    edits: [
      {
        find: 'return client.attempts === null && isSecretAmong(client.secrets, secret) ? client : undefined;',
        replace: 'return client.attempts === null ? client : undefined;',
      },
    ],
    tests: compared,
  },
  {
    ids: [],
    fault: 'introspection accepts the right secret of a client that is locked',
    edits: [
      {
        find: 'return client.attempts === null && isSecretAmong(client.secrets, secret) ? client : undefined;',
        replace: 'return isSecretAmong(client.secrets, secret) ? client : undefined;',
      },
    ],
    tests: compared,
  },
  {
    ids: [],
    fault: 'introspection tells every client about every token',
    edits: [{ find: 'if (!mayIntrospect(client, client.id, record.payload)) return undefined;', replace: '' }],
    tests: compared,
  },
  {
    ids: [],
    fault: 'userinfo accepts a token without the scope openid',
    edits: [
      {
        find: "const client = scopes.includes('openid') && (await clients.find(clientId));",
        replace: 'const client = await clients.find(clientId);',
      },
    ],
    tests: compared,
  },
  {
    ids: [],
    fault: 'userinfo returns claims that the client may no longer have',
    edits: [
      {
        find: 'const names = scopes.filter((each) => granted.has(each)).flatMap(',
        replace: 'const names = scopes.filter((each) => granted.size >= 0 && each).flatMap(',
      },
    ],
    tests: compared,
  },
];
