// @suite everyday-on-embedded: tests the embedded database

import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { engine } from '../helpers/database/databases.js';
import { bearer } from '../helpers/service/app.js';
import {
  createHome,
  type Ending,
  launchService,
  logIn,
  refusedService,
  type Service,
  startService,
} from '../helpers/service/service.js';
import { cheapHashing } from '../helpers/service/variables.js';

const skip = engine === 'postgres' && 'embedded database only';
const variables = { ...cheapHashing, ADMIN_PASSWORD: 'the password', LOG_LEVEL: 'info' };
const refusal = /The data directory \S+ is in use by another Gatehouse process\./;

t.test('a second process on the same data directory is rejected, and the first is unaffected', { skip }, async (t) => {
  const home = await createHome(t, { prepared: true });
  const first = await startService(home, variables);
  const { body } = await logIn(first, 'the password');

  const seconds = await Promise.all(Array.from({ length: 4 }, () => refusedService(home, variables)));
  for (const { code, stdout, stderr } of seconds) {
    t.equal(code, 1);
    t.equal(stdout, '');
    t.match(stderr, refusal);
    t.notMatch(stderr, /^\s+at /m);
  }
  t.equal((await first.get('/users/me', bearer(body.data.access_token))).status, 200);
  t.equal((await logIn(first, 'the password')).status, 200);
  await first.stop();

  const next = await startService(home, variables);
  t.equal((await next.get('/users/me', bearer(body.data.access_token))).status, 200, 'nothing was lost');
  await next.stop();
});

t.test('of several processes that start simultaneously, exactly one survives', { skip }, async (t) => {
  const home = await createHome(t);
  for (let round = 0; round < 2; round++) {
    const all = [launchService(home, variables), launchService(home, variables), launchService(home, variables)];
    const endings = await Promise.all(all.map(readyOrEnded));
    const survivors = all.filter((_, index) => endings[index] === 'ready');
    t.equal(survivors.length, 1);
    for (const [index, service] of all.entries()) {
      if (endings[index] === 'ready') continue;
      t.strictSame(endings[index], { code: 1, signal: null });
      t.match(service.stderr, refusal);
    }
    const [survivor] = survivors;
    if (survivor) {
      t.equal((await logIn(survivor, 'the password')).status, 200);
      t.equal((await survivor.stop()).code, 0);
    }
  }
});

t.test('a first start that was killed is completed by the next', { skip }, async (t) => {
  const home = await createHome(t);
  for (const ms of [500, 1500]) {
    const service = launchService(home, variables);
    await sleep(ms);
    await service.stop('SIGKILL');
  }
  const service = await startService(home, variables);
  t.equal((await logIn(service, 'the password')).status, 200);
  await service.stop();
});

async function readyOrEnded(service: Service): Promise<'ready' | Ending> {
  for (;;) {
    if (service.url) return 'ready';
    const ending = await Promise.race([service.ended, sleep(5)]);
    if (ending) return ending;
  }
}
