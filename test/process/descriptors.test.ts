import { spawnSync } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { engine } from '../helpers/database/databases.js';
import { metricsOf } from '../helpers/measurements/metrics.js';
import { bearer } from '../helpers/service/app.js';
import { createHome, logLines, startService } from '../helpers/service/service.js';
import { cheapHashing } from '../helpers/service/variables.js';

const METRICS_TOKEN = 'the-token-that-prometheus-has';
const ownLimit = (limit: string) => spawnSync('prlimit', ['--pid', String(process.pid), `--nofile=${limit}`]);
const skip = ownLimit('1024:').status !== 0 && '`prlimit` cannot be used';

t.test('connections that are refused for lack of file descriptors are logged and counted', { skip }, async (t) => {
  const home = await createHome(t, { prepared: true });
  ownLimit('600:600');
  const service = await startService(home, { ...cheapHashing, METRICS_TOKEN });
  // This process may have many files open, and opens many connections.
  ownLimit('4096:4096');
  const metrics = async () => metricsOf(await (await service.get('/metrics', bearer(METRICS_TOKEN))).text());
  t.equal((await metrics()).value('gatehouse_connections_refused_total'), 0);

  const { port } = new URL(service.url);
  const sockets: Socket[] = [];
  for (let opened = 0; opened < 520; opened++) {
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => {});
    sockets.push(socket);
  }
  for (let waited = 0; waited < 10_000 && !service.stdout.includes('connections were refused'); waited += 50)
    await sleep(50);
  await sleep(500);
  for (const socket of sockets) socket.destroy();
  const connections = engine === 'embedded' ? 300 : 490;
  const [line] = logLines(service.stdout).filter(({ level }) => level === 50);
  t.match(line, { msg: 'connections were refused: too few file descriptors', descriptors: 600, connections });
  t.ok(Number(line?.refused) > 0);
  await sleep(500);
  t.ok(((await metrics()).value('gatehouse_connections_refused_total') ?? 0) >= Number(line?.refused));
  t.equal((await service.get('/server/health')).status, 200, 'the database can still be reached');
  await service.stop();
});
