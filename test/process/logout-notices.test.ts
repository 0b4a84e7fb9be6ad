import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { discover, signedInBrowser } from '../helpers/applications/applications.js';
import { confidentialClient } from '../helpers/applications/clients.js';
import { startLogoutReceiver, verifyLogoutToken } from '../helpers/applications/logout-receiver.js';
import { freePort } from '../helpers/servers/ports.js';
import { createHome, startService } from '../helpers/service/service.js';
import { administrator } from '../helpers/users/credentials.js';
import { asAdministrator, variables } from '../helpers/users/over-http.js';

t.test('after kill -9, an application is notified of the session that ended before', async (t) => {
  const home = await createHome(t, { prepared: true });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const settings = { ...variables, PUBLIC_URL: url, PORT: String(port), WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'true' };
  const receiver = await startLogoutReceiver(t);
  const service = await startService(home, settings);
  const call = await asAdministrator(service);
  const values = confidentialClient({ first_party: true, backchannel_logout_uri: receiver.uri });
  const client = (await call('POST', '/clients', values)) as { id: string; secret: string };
  const browser = await signedInBrowser(url, administrator);
  const session = (await browser.signIn(await discover(url, client))).claims()?.sid;
  const { status } = await browser.fetch(`${url}/account/sign-out`, { method: 'POST' });
  t.equal(status, 204);
  await service.stop('SIGKILL');
  t.strictSame(receiver.tokens, [], 'the service was killed before it could notify the application');

  await startService(home, settings);
  for (let tries = 0; receiver.tokens.length === 0 && tries < 400; tries++) await sleep(50);
  t.match(await verifyLogoutToken(receiver.tokens[0] ?? '', url, client.id), { sid: session });
});
