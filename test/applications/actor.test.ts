import { sql } from 'drizzle-orm';
import * as oidc from 'openid-client';
import t from 'tap';
import { contentOf } from '../../plugins/activity/audit-log.js';
import { startProvider } from '../helpers/applications/applications.js';
import { recorded, recordedAs } from '../helpers/database/activity.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin } from '../helpers/http/writing.js';
import { bearer } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';
import { createUser } from '../helpers/users/users.js';

const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

/** Capabilities 9, "Acting for a user": a user sees which application acted, and in which session. */
t.test('the audit log and the list of sessions name the application that acts for a user', async (t) => {
  const provider = await startProvider(t);
  const { app, request, get, url } = provider;
  const scopes = ['openid', 'users:read', 'users:update'];
  const web = await provider.addClient({ name: 'Web', scopes });
  const agent = await provider.addClient({
    name: 'Agent',
    type: 'confidential',
    grant_types: [tokenExchange],
    redirect_uris: [],
    scopes,
  });
  const config = await provider.discover(web);
  const browser = await provider.browser(administrator);
  const tokens = await browser.signIn(config, { scope: scopes.join(' ') });
  const user = tokens.claims()?.sub ?? '';
  const { id } = await createUser(app);
  const exchanged = await oidc.genericGrantRequest(await provider.discover(agent), tokenExchange, {
    subject_token: tokens.access_token,
    subject_token_type: accessTokenType,
  });
  let names = 0;
  const rename = async (headers: Record<string, string>) => {
    const payload = { first_name: `Name ${++names}` };
    return request({ method: 'PATCH', url: `/users/${id}`, headers, payload });
  };
  const rowsOf = async (response: { headers: Record<string, unknown> }) =>
    (await recorded(app, response.headers['x-request-id'])).map(({ action, user, actor, outcome }) => ({
      action,
      user,
      actor,
      outcome,
    }));

  t.test('in every change, with the client that presented the token', async (t) => {
    const change = { action: 'update', user, outcome: 'success' };
    t.strictSame(await rowsOf(await rename(bearer(tokens.access_token))), [{ ...change, actor: web.id }]);
    t.strictSame(await rowsOf(await rename(bearer(exchanged.access_token))), [{ ...change, actor: agent.id }]);
    const [without] = await rowsOf(await rename(asAdmin));
    t.equal(without?.actor, null);
  });

  t.test('in a refused request', async (t) => {
    const response = await request({ method: 'DELETE', url: `/users/${id}`, headers: bearer(exchanged.access_token) });
    refused(t, response, 'FORBIDDEN', 'a scope that the token lacks');
    t.strictSame(await rowsOf(response), [{ action: 'delete', user, actor: agent.id, outcome: 'failure' }]);
  });

  t.test('in the exchange itself', async (t) => {
    const rows = await recordedAs(app, 'token_exchange');
    t.match(rows, [{ user, actor: agent.id, collection: 'sessions', outcome: 'success' }]);
    t.equal(rows.length, 1);
    t.ok(rows[0]?.item);
  });

  t.test('in GET /activity, with the name of the application', async (t) => {
    const query = `filter={"actor":{"name":"Agent"}}&fields=action,actor.name&sort=id`;
    const { data } = (await get(`/activity?${query}`, asAdmin)).json();
    t.strictSame(data[0], { action: 'token_exchange', actor: { name: 'Agent' } });
    t.ok(data.some(({ action }: { action: string }) => action === 'update'));
    const plain = (await get(`/activity?filter={"actor":"${web.id}"}&limit=1`, asAdmin)).json().data;
    t.equal(plain[0].actor, web.id);
  });

  t.test('under a signature, which leaves rows without an actor as they were', async (t) => {
    await app.activityChain.link();
    t.match(await app.verifyActivity(), { isIntact: true });
    const [row] = await recordedAs(app, 'token_exchange');
    if (!row) return t.fail('no row');
    t.equal(JSON.parse(contentOf({ ...row, actor: null })).length, 14);
    const forge = (actor: string | null) =>
      app.db.execute(sql`update activity set actor = ${actor}::uuid where id = ${row.id}`);
    for (const actor of [null, web.id]) {
      await forge(actor);
      t.match(await app.verifyActivity(), { isIntact: false }, `${actor}`);
    }
    await forge(agent.id);
    t.match(await app.verifyActivity(), { isIntact: true });
  });

  t.test('in the list of sessions, from which the user ends its access', async (t) => {
    const list = async () => {
      const response = await browser.fetch(`${url}/users/me/sessions`);
      return ((await response.json()) as { data: { id: string; current: boolean; applications: object[] }[] }).data;
    };
    const [session] = (await list()).filter(({ current }) => current);
    t.strictSame(session?.applications, [
      { id: agent.id, name: 'Agent' },
      { id: web.id, name: 'Web' },
    ]);
    await browser.fetch(`${url}/users/me/sessions/${session?.id}`, { method: 'DELETE' });
    for (const token of [tokens.access_token, exchanged.access_token])
      refused(t, await get('/users/me', bearer(token)), 'INVALID_CREDENTIALS', 'after the end of the session');
  });
});
