import * as oidc from 'openid-client';
import t from 'tap';
import { startProvider } from '../helpers/applications/applications.js';
import { administrator } from '../helpers/users/credentials.js';

t.test('an application signs a user in', async (t) => {
  const provider = await startProvider(t);
  const client = await provider.addClient();
  const config = await provider.discover(client);
  const browser = await provider.browser(administrator);

  t.test('with a code, an ID token, and a refresh token', async (t) => {
    const tokens = await browser.signIn(config, { scope: 'openid profile email roles groups offline_access' });
    const claims = tokens.claims();
    t.match(claims, { iss: provider.url, aud: client.id, email: administrator.email, roles: Array, groups: Array });
    t.type(claims?.auth_time, 'number');
    t.match(tokens.scope, /offline_access/);
    const user = await oidc.fetchUserInfo(config, tokens.access_token, claims?.sub ?? '');
    t.match(user, { email: administrator.email });
    const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '');
    t.not(refreshed.refresh_token, tokens.refresh_token);
    const introspected = await oidc.tokenIntrospection(config, refreshed.access_token);
    t.match(introspected, { active: true, client_id: client.id, sub: claims?.sub });
  });
});
