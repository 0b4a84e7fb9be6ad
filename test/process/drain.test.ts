// @suite long-only: keeps instances under load, and needs an idle machine

import { spawnSync } from 'node:child_process';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { engine } from '../helpers/database/databases.js';
import { send } from '../helpers/http/send.js';
import { startGuideProxy } from '../helpers/servers/guide-proxy.js';
import { freePort } from '../helpers/servers/ports.js';
import { createHome, startService } from '../helpers/service/service.js';
import { cheapHashing } from '../helpers/service/variables.js';
import { administrator } from '../helpers/users/credentials.js';

const password = 'the password';
const body = JSON.stringify({ ...administrator, password });

t.test('SHUTDOWN_DELAY: health is 503 while all other requests still succeed, then the service ends', async (t) => {
  const home = await createHome(t, { prepared: true });
  const service = await startService(home, { ...cheapHashing, ADMIN_PASSWORD: password, SHUTDOWN_DELAY: '2s' });
  t.equal((await service.get('/server/health')).status, 200);
  const start = performance.now();
  const stopped = service.stop();
  await sleep(200);
  const health = await service.get('/server/health');
  t.equal(health.status, 503);
  t.strictSame(await health.json(), { status: 'error' });
  for (let asked = 0; asked < 5; asked++) {
    t.equal((await service.get('/server/ping')).status, 200);
    const login = await service.post('/auth/login', { ...administrator, password });
    t.equal(login.status, 200);
    t.equal(login.headers.get('connection'), 'keep-alive', 'connections stay open');
  }
  t.strictSame(await stopped, { code: 0, signal: null });
  const ms = performance.now() - start;
  t.ok(ms >= 2_000 && ms < 12_000, `${Math.round(ms)} ms`);
});

for (const name of ['haproxy', 'nginx'] as const) {
  const isMissing = spawnSync(name, ['-v']).status !== 0 && `${name} is not installed`;
  const skip = engine === 'embedded' ? 'the embedded database allows one instance' : isMissing;

  t.test(`no request fails behind ${name} while instances restart`, { skip }, async (t) => {
    const home = await createHome(t, { prepared: true });
    const upstreams: [number, number] = [await freePort(), await freePort()];
    const port = await freePort();
    const start = (index: 0 | 1) =>
      startService(home, {
        ...cheapHashing,
        ADMIN_PASSWORD: password,
        TRUST_PROXY: '127.0.0.1',
        PORT: String(upstreams[index]),
        SHUTDOWN_DELAY: '4s',
      });
    const instances = [await start(0), await start(1)];
    await startGuideProxy(t, name, { directory: home.directory, port, upstreams, isPlain: true });
    // HAProxy considers new instances healthy until it has checked them.
    await sleep(1_000);

    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    t.teardown(() => agent.destroy());
    const outcomes = new Map<string, number>();
    let isOver = false;
    const logInRepeatedly = async () => {
      while (!isOver) {
        const outcome = await logInThrough(port, agent);
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      }
    };
    const clients = Array.from({ length: 8 }, logInRepeatedly);
    for (const index of [0, 1] as const) {
      t.strictSame(await instances[index]?.stop(), { code: 0, signal: null });
      instances[index] = await start(index);
      await sleep(2_000);
    }
    isOver = true;
    await Promise.all(clients);
    t.comment(JSON.stringify([...outcomes]));
    t.ok((outcomes.get('200') ?? 0) > 20);
    t.strictSame([...outcomes.keys()], ['200']);
  });
}

/** @returns the status, or the code of the error */
function logInThrough(port: number, agent: Agent): Promise<string> {
  const options = { agent, method: 'POST', headers: { host: 'localhost' } };
  return send(`http://127.0.0.1:${port}/auth/login`, options, body).then(
    ({ status }) => String(status),
    (error: NodeJS.ErrnoException) => String(error.code),
  );
}
