// Writes docs/api-access.md from what the routes declare: `npm run docs`.
import { writeFileSync } from 'node:fs';
import type { ApiOperation } from '../plugins/http/route-rules.js';
import { documentedPath, startDefaultApp } from './default-app.js';

const callers = {
  open: 'anyone',
  anonymous: 'anyone',
  authenticated: 'signed-in users',
  permission: 'users with the permission',
} as const;

const code = (text: string) => `\`${text}\``;

/** Who can call an operation, and with which right. */
function accessOf({ access = 'open', needs }: ApiOperation['config']): [caller: string, right: string] {
  if (needs === undefined) return [callers[access], ''];
  if (needs === 'administrator') return ['administrators', ''];
  if (needs === 'nothing') return ['anyone', ''];
  const { collection, action, fields = [], unconditional } = needs;
  const ofFields = fields.length === 0 ? '' : ` (${fields.map(code).join(', ')})`;
  return [
    callers.permission,
    `${code(action)} on ${code(collection)}${ofFields}${unconditional ? ', without conditions' : ''}`,
  ];
}

function rowOf([name, { method, url, config }]: [string, ApiOperation]): string {
  const [caller, right] = accessOf(config);
  const { requiresFresh, credentials = [], scope, beforeTfa, rateClass, recordedAs } = config;
  const session = requiresFresh ? 'fresh session' : credentials.join(' or ');
  const cells = [
    code(name),
    code(`${method} ${documentedPath(url)}`),
    caller,
    right,
    session,
    scope ? code(scope) : '',
    beforeTfa ? 'yes' : '',
    rateClass ?? '',
    recordedAs ? recordedAs.map(code).join(' of ') : '',
  ];
  return `| ${cells.join(' | ')} |`;
}

const app = await startDefaultApp();
writeFileSync(
  'docs/api-access.md',
  `# Who can call what

This page lists the access rules of every operation. \`npm run docs\` generates it from the declarations of the routes.

- **Callers**: if the [public policy](access-control.md) grants a permission, "users with the permission" includes everyone. Administrators
  have all permissions. Which items a caller can see or change through an operation also depends on the filters in their permissions.
- **Session**: operations with "session" reject static tokens. Operations with "fresh session" also require that the user logged in or
  confirmed their identity recently ([Fresh sessions](security.md#fresh-sessions-step-up)).
- **Scope**: an application that acts for a user with its [access token](access-tokens.md#access-tokens-of-applications) needs this scope.
  Operations without one reject such tokens, or, if anyone can call them, ignore their rights.
- **Before 2FA**: users who must set up two-factor authentication, and have not done so yet, can use the operation.
- **Rate limit**: the operation has its own limit ([Limits](limits.md)), in addition to the one on all requests.
- **Audit log**: the action and the collection under which the audit log records successful and denied calls.

| Operation | Request | Callers | Permission | Session | Scope | Before 2FA | Rate limit | Audit log |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
${[...app.operations].map(rowOf).join('\n')}
`,
);
await app.close();
