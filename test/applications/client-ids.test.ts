import t from 'tap';
import { patch, startWithAdmin } from '../helpers/http/writing.js';

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
