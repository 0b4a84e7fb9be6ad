import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { engine } from '../helpers/database/databases.js';
import { type Cluster, startCluster, withoutPrograms } from '../helpers/database/postgres-cluster.js';
import { askStored } from '../helpers/database/stored.js';
import { maxWait, recoveryAfter, statusesOf } from '../helpers/load/availability.js';
import { assertAcknowledgedKept, assertStoredCompletely } from '../helpers/load/kept.js';
import { summaryOf } from '../helpers/load/ledger.js';
import { createLoad, type Load } from '../helpers/load/world.js';
import { freePort } from '../helpers/servers/ports.js';
import { createHome, type Home, type Service, startService } from '../helpers/service/service.js';

/** `npm run test:soak` runs more outages. */
const { OUTAGES } = process.env;
const rounds = Number(OUTAGES ?? 1);

const skip = (engine === 'embedded' && 'PostgreSQL only') || withoutPrograms;
/** For long tests that rarely find more than the others. */
const onlyLong = OUTAGES === undefined && 'only in long runs';
const crowd = { registers: 2, invites: 2, resets: 2, refreshes: 8, logsIn: 2 };

/** Milliseconds: mostly short, but the third outage is longer than a client waits and than the refresh grace period. */
const downtime = (round: number) => (round % 4 === 2 ? 12_000 : 300 + ((round * 700) % 2_500));

/**
 * Waits until clients are answered again. @param from when the database became unavailable; it is available again now
 */
type Recovers = (what: string, from: number, within: number) => Promise<void>;

/** Runs clients of a service while its database has outages, and checks that the service keeps its promises. */
async function holdsThrough(
  t: Test,
  databaseUrl: string,
  outages: (recovers: Recovers) => Promise<void>,
): Promise<void> {
  const home = await createHome(t, { databaseUrl });
  let origin = '';
  const load = await createLoad(t, () => origin, crowd);
  const service = await startService(home, load.variables);
  origin = service.url;
  await load.begin();
  const health = watchHealth(service);
  await sleep(1_000);
  await outages((...outage) => recovers(t, load, health.seen, ...outage));
  health.stop();
  await worksOn(t, home, load);
  await load.end();
  t.comment(summaryOf(load.ledger));
  await assertAcknowledgedKept(t, load);
  t.strictSame(await service.stop(), { code: 0, signal: null });
  await assertStoredCompletely(t, home, load.variables, load.ledger);
}

/** Polls the health check of a service, as a load balancer does. */
function watchHealth(service: Service): { seen: { status: number; at: number }[]; stop(): void } {
  const seen: { status: number; at: number }[] = [];
  const timer = setInterval(async () => {
    const { status } = await service.get('/server/health');
    seen.push({ status, at: performance.now() });
  }, 200);
  return { seen, stop: () => clearInterval(timer) };
}

async function recovers(
  t: Test,
  { asking }: Load,
  health: readonly { status: number; at: number }[],
  ...[what, from, within]: Parameters<Recovers>
): Promise<void> {
  const back = performance.now();
  await sleep(2_000);
  for (const end = back + within; performance.now() < end; await sleep(500)) {
    if (recoveryAfter(asking.notes, back) < Number.POSITIVE_INFINITY) break;
  }
  const notes = asking.notes.filter(({ answered }) => answered >= from);
  const recovery = Math.round(recoveryAfter(notes, back));
  // Inviting a thousand users may take minutes, so this request has no deadline.
  const wait = Math.round(maxWait(notes.filter(({ what }) => what !== 'POST /users/invite')));
  const away = Math.round(back - from);
  t.comment(
    `${what}: unavailable for ${away} ms, 99 % after ${recovery} ms, longest wait ${wait} ms, ${JSON.stringify(statusesOf(notes))}`,
  );
  t.ok(recovery <= within, `${what}: 99 of 100 requests are answered within ${recovery} ms after it is back`);
  t.ok(wait < 11_000, `no request waited longer than ${wait} ms`);
  const failures = notes.filter(({ status }) => status === 0 || status >= 500);
  t.ok(failures.length > 0, 'some requests failed');
  const others = failures.filter(({ status, retryAfter }) => status !== 503 || !/^\d+$/.test(retryAfter ?? ''));
  t.strictSame(others, [], 'every failure is a 503 with Retry-After');
  if (away > 2_500) {
    const answers = health.filter(({ at }) => at >= from).map(({ status }) => status);
    t.ok(answers.includes(503), 'the health check reported it');
  }
  for (const end = performance.now() + 5_000; health.at(-1)?.status !== 200 && performance.now() < end; )
    await sleep(50);
  t.equal(health.at(-1)?.status, 200, 'the health check reports the recovery');
}

/** Checks that background work continues. */
async function worksOn(t: Test, home: Home, { ledger }: Load): Promise<void> {
  const reset = () => [...ledger.resets.values()].reduce((sum, { done }) => sum + done, 0);
  const before = reset();
  const unlinked = async () => {
    const [found] = await askStored(
      home,
      `select count(*)::int as count from activity where position is null and timestamp < now() - interval '5 seconds'`,
    );
    return found?.count;
  };
  const isDone = async () => reset() > before + 1 && (await unlinked()) === 0;
  for (const end = performance.now() + 20_000; !(await isDone()) && performance.now() < end; ) await sleep(200);
  t.ok(reset() > before + 1, 'emails are sent');
  t.equal(await unlinked(), 0, 'the audit log is linked');
}

/** How a primary is restarted, and what happens to it before its standby is promoted. */
const fates = [
  { restarted: 'immediate', lost: 'killed', lose: (primary: Cluster) => primary.kill() },
  { restarted: 'fast', lost: 'hanging', lose: async (primary: Cluster) => primary.freeze() },
] as const;

for (const { restarted, lost, lose } of fates) {
  const title = `the service recovers from a restart of PostgreSQL (${restarted}) and a failover (${lost}) under load`;
  t.test(title, { skip: skip || (lost === 'hanging' && onlyLong) }, async (t) => {
    let primary = await startCluster(t);
    let freed = await freePort();
    const hosts = [freed, primary.port].map((port) => `127.0.0.1:${port}`).join(',');
    const url = `postgres://postgres@${hosts}/postgres?target_session_attrs=read-write`;
    await holdsThrough(t, url, async (recovers) => {
      for (let round = 0; round < rounds; round++) {
        const from = performance.now();
        await primary.stop(restarted);
        await sleep(downtime(round));
        await primary.start();
        await recovers(`restart ${round + 1} (${restarted})`, from, 10_000);
      }
      for (let round = 0; round < rounds; round++) {
        const standby = await primary.startSynchronousStandby(t, freed);
        await sleep(500);
        const from = performance.now();
        await lose(primary);
        await sleep(downtime(round));
        await standby.promote();
        await recovers(`failover ${round + 1} (${lost})`, from, 30_000);
        await primary.kill();
        freed = primary.port;
        primary = standby;
      }
    });
  });
}

t.test('the service recovers after the loss of a synchronous standby', { skip: skip || onlyLong }, async (t) => {
  const primary = await startCluster(t);
  const standby = await primary.startSynchronousStandby(t);
  const hosts = [standby, primary].map(({ port }) => `127.0.0.1:${port}`).join(',');
  // Without the standby, nothing commits.
  await holdsThrough(t, `postgres://postgres@${hosts}/postgres`, async (recovers) => {
    for (let round = 0; round < Math.min(rounds, 3); round++) {
      const from = performance.now();
      await standby.kill();
      await sleep(14_000);
      await standby.start();
      await recovers(`standby ${round + 1}`, from, 30_000);
    }
  });
});
