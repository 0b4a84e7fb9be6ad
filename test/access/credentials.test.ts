import t from 'tap';
import type { CredentialResolver } from '../../plugins/access/credentials/resolver.js';
import { createStaticTokenResolver } from '../../plugins/access/credentials/static-token.js';
import { createAccess } from '../../plugins/access/service.js';
import { type AcceptedKinds, acceptedByDefault, type Credential, requireKind } from '../../plugins/http/credential.js';
import { hashToken } from '../../plugins/tokens/refresh-tokens.js';
import { startTestApp } from '../helpers/service/app.js';
import { createUser } from '../helpers/users/users.js';

const { app } = await startTestApp(t);

/** A kind of credential that the service does not have: a static token with a prefix, which names its scopes. */
const scratch: CredentialResolver = {
  recognize: async (token) => {
    const [, scope, secret] = /^scratch:(\w+):(.+)$/.exec(token) ?? [];
    if (scope === undefined || secret === undefined) return undefined;
    return async ({ ownFields }) => {
      const user = await app.principals.ofTokenHash(hashToken(secret), ownFields);
      const credential = { kind: 'scratch', id: scope, scopes: [scope], client: 'a program' } as unknown as Credential;
      return user && { user, credential };
    };
  },
};

t.test('a kind of credential needs a resolver, and operations refuse it until they name it', async (t) => {
  const { id } = await createUser(app, { tokenHash: hashToken('secret') });
  const access = createAccess(app, [scratch, createStaticTokenResolver(app)]);
  const client = (await access.anonymous({ ip: null } as never)).client;
  const caller = await access.authenticate(['scratch:read:secret'], client);
  t.equal(caller.userId, id);
  t.match(caller.credential, { kind: 'scratch', id: 'read', scopes: ['read'], client: 'a program' });

  const other = await access.authenticate(['secret'], client);
  t.strictSame(other.credential, { kind: 'static token', id, scopes: null, client: null });
  await t.rejects(access.authenticate(['scratch:read:another secret'], client), { code: 'INVALID_CREDENTIALS' });
  const several = await access.authenticate(['unknown', 'secret', 'scratch:read:secret'], client);
  t.strictSame(several.credential, caller.credential, 'the first kind of several');

  t.throws(() => requireKind(caller, acceptedByDefault), { code: 'FORBIDDEN' });
  t.throws(() => requireKind(caller, ['session']), { code: 'FORBIDDEN' });
  requireKind(caller, ['session', 'scratch'] as unknown as AcceptedKinds);
  requireKind(other, acceptedByDefault);
  t.throws(() => requireKind(other, ['session']), {
    code: 'FORBIDDEN',
    extensions: { reason: 'This requires a session. Sign in instead of using a static token.' },
  });
});
