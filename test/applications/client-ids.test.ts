import { randomUUID } from 'node:crypto';
import t from 'tap';
import { findRecord, saveRecord } from '../../db/queries/applications/records.js';
import { create, publicClient, resource } from '../helpers/applications/clients.js';
import { asAdmin, patch, remove, startWithAdmin } from '../helpers/http/writing.js';

const service = await startWithAdmin(t);

/** Why a request of this client is refused. No metadata is fetched from a loopback address. */
async function refusalOf(client: string): Promise<string> {
  const response = await service.request({
    method: 'POST',
    url: '/oauth/par',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ client_id: client, response_type: 'code', scope: 'openid' }).toString(),
  });
  t.equal(response.statusCode, 400);
  t.equal(response.json().error, 'invalid_client');
  return response.json().error_description;
}

const notAllowed = 'client_id metadata document fetch not allowed';
const notFetched = 'client_id metadata document fetch failed';

t.test('no client can escape the setting by another spelling of its ID', async (t) => {
  const id = 'https://127.0.0.1/client.json';
  const others = ['HTTPS://127.0.0.1/client.json', 'Https://127.0.0.1/client.json', 'hTTPS://127.0.0.1:443/'];
  for (const client of [id, ...others]) t.equal(await refusalOf(client), notAllowed, client);
  await patch(service, '/settings', { unregistered_clients: 'any' });
  t.equal(await refusalOf(id), notFetched, 'the setting allows it');
  for (const client of others) t.equal(await refusalOf(client), notAllowed, client);
});

t.test('no ID of a client is the identifier of a resource, because both are audiences', async (t) => {
  await patch(service, '/settings', { unregistered_clients: 'any' });
  const id = 'https://127.0.0.1/orders';
  const now = service.clock.now();
  const record = {
    hash: 'a'.repeat(64),
    kind: 'AccessToken',
    payload: {},
    client: id,
    registered_client: null,
    user: null,
    session: null,
    grant: null,
    resource: null,
    parent: null,
    family: randomUUID(),
    offline: false,
    user_code_hash: null,
    created_at: now.toISOString(),
    expires_at: new Date(now.getTime() + 60_000).toISOString(),
  };
  await saveRecord(service.app.db, record);
  /** Whether tokens of the client are accepted. */
  const modeOfTokens = async () =>
    (await findRecord(service.app.db, record.hash, [], { now, maxAge: null, shift: 0 }))?.unregistered?.mode;
  t.equal(await refusalOf(id), notFetched);
  t.equal(await modeOfTokens(), 'any');

  const { id: key } = await create(service, '/resources', resource({ identifier: id }));
  t.equal(await refusalOf(id), notAllowed);
  t.equal(await modeOfTokens(), 'off');
  t.equal(await refusalOf(`${id}/`), notFetched, 'another client');

  await remove(service, `/resources/${key}`);
  // The service remembers the failure from before for 30 seconds.
  service.clock.advance(30_000);
  t.equal(await refusalOf(id), notFetched);

  const { id: registered } = await create(service, '/clients', publicClient());
  const same = await service.post('/resources', resource({ identifier: registered }), asAdmin);
  t.match(same.json().errors[0].extensions, { field: 'identifier', type: 'uri' }, 'the ID of a registered client');
});
