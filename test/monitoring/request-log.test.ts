import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { listen } from '../helpers/http/raw-http.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { collectLog } from '../helpers/service/collect-log.js';

const METRICS_TOKEN = 'the-token-that-prometheus-has';

t.test('the log of requests', async (t) => {
  const { lines, logger } = collectLog('debug');
  const { app, get } = await startTestApp(t, { METRICS_TOKEN }, { logger });
  const port = await listen(app);
  const levelsAfter = async (path: string, headers: Record<string, string> = {}) => {
    lines.length = 0;
    await get(path, headers);
    return lines.filter(({ msg }) => msg === 'request').map(({ level }) => level);
  };

  t.test('probes are logged at the level debug', async (t) => {
    for (const path of ['/server/ping', '/server/health', '/server/health/'])
      t.strictSame(await levelsAfter(path), [20], path);
    t.strictSame(await levelsAfter('/metrics', bearer(METRICS_TOKEN)), [20]);
    app.health.startDraining();
    t.strictSame(await levelsAfter('/server/health'), [20], 'also when the instance is not healthy');
  });

  t.test('all other requests, and rejected probes, are logged at the level info', async (t) => {
    for (const path of ['/server/info', '/nowhere', '/metrics', '/users/me'])
      t.strictSame(await levelsAfter(path), [30], path);
    t.strictSame(await levelsAfter('/server/health', bearer('nobody')), [30]);
  });

  t.test('the address of a client is logged even if it does not send HTTP', async (t) => {
    lines.length = 0;
    const broken = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.4' });
    broken.resume().write('nonsense\r\n\r\n');
    await once(broken, 'close');
    t.match(
      lines.filter(({ msg }) => msg === 'request'),
      [{ status: 400, ip: '127.0.0.4' }],
    );
  });

  t.test('a request whose client disconnects is logged once, with its address', async (t) => {
    const body = JSON.stringify({ email: 'nobody@example.com', password: 'a password' });
    const start = `POST /auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    const cases = [
      { sent: body.slice(0, 9), expected: { status: 400 } },
      { sent: body, expected: { path: '/auth/login', disconnected: true, status: undefined, ms: Number } },
    ];
    for (const { sent, expected } of cases) {
      lines.length = 0;
      const client = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.5' });
      const arrived = once(app.server, 'request');
      client.write(start + sent);
      await arrived;
      client.destroy();
      // Until the password has been checked, too: the response that nobody receives is not logged as a second request.
      await sleep(1_000);
      const logged = lines.filter(({ msg }) => msg === 'request');
      t.equal(logged.length, 1, sent);
      t.match(logged, [{ level: 30, ip: '127.0.0.5', ...expected }], sent);
    }
  });
});
