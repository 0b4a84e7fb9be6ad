// @suite everyday-on-embedded: the embedded database must survive a kill, too

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { engine } from '../helpers/database/databases.js';
import { adminToken, asAdmin } from '../helpers/http/writing.js';
import { createHome, type Service, startService } from '../helpers/service/service.js';
import { cheapHashing, noLimits } from '../helpers/service/variables.js';

/** `npm run test:soak` runs 100 kills. */
const kills = Number(process.env.KILLS ?? 3);

interface Outcome {
  status: number;
  body: string;
}

t.test(`with ${kills} × kill -9 among 50 parallel repetitions, a request has exactly one effect`, async (t) => {
  const home = await createHome(t, { prepared: true });
  const variables = { ...cheapHashing, ...noLimits, ADMIN_TOKEN: adminToken, ADMIN_PASSWORD: 'only for this test 7' };
  // Only PostgreSQL can be shared by two instances. The first one is killed.
  const start = () => startService(home, variables);
  const other = engine === 'postgres' ? await start() : undefined;
  let service = await start();
  for (let kill = 0; kill < kills; kill++) {
    const email = `${randomUUID()}@example.com`;
    const headers = { ...asAdmin, 'idempotency-key': randomUUID() };
    const send = async (to: Service): Promise<Outcome> => {
      try {
        const response = await to.post(
          '/users?fields=id,email',
          { email, password: 'a strong pass phrase 7' },
          headers,
        );
        return { status: response.status, body: await response.text() };
      } catch {
        return { status: 0, body: '' };
      }
    };
    const victim = service;
    const sent = Array.from({ length: 50 }, (_, index) => send(other && index % 2 === 1 ? other : victim));
    await sleep((kill * 37) % 150);
    await victim.stop('SIGKILL');
    const outcomes = await Promise.all(sent);
    service = await start();
    outcomes.push(await send(service));
    const done = outcomes.filter(({ status }) => status === 200);
    t.comment(`kill ${kill + 1}: ${done.length} of 51 got a response`);
    t.ok(done.length > 0, 'the repeated request succeeds');
    t.equal(new Set(done.map(({ body }) => body)).size, 1, 'all get the same response');
    t.notOk(
      outcomes.some(({ status }) => status > 200 && status < 503),
      `no other outcome: ${outcomes.map(({ status }) => status)}`,
    );
    const found = await service.get(`/users?filter[email][_eq]=${email}&fields=id`, asAdmin);
    const { data } = (await found.json()) as { data: unknown[] };
    t.equal(data.length, 1, 'there is one user');
  }
});
