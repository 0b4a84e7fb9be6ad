import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { databaseUrl, password, startBehindProxy } from '../helpers/outage.js';
import { engine, logIn } from '../helpers/service.js';
import { claimsOf } from '../helpers/sessions.js';

const skip = engine === 'embedded' && 'PostgreSQL only';

/** A session of a service whose connection to the database can be lost. */
async function startSession(t: Test) {
  const { home, proxy, service } = await startBehindProxy(t);
  const { data } = (await logIn(service, password)).body;
  const session = String(claimsOf(data.access_token).session);
  const sql = postgres(databaseUrl(home).href, { max: 1, onnotice: () => {} });
  t.teardown(() => sql.end());
  let { refresh_token: token } = data;
  /** Goes on with the token that was answered last. */
  const refresh = async (): Promise<Response> => {
    const answer = await service.post('/auth/refresh', { refresh_token: token });
    if (answer.status === 200) token = ((await answer.clone().json()) as { data: typeof data }).data.refresh_token;
    return answer;
  };
  return { proxy, service, session, sql, refresh };
}

t.test('a refresh that is not answered has consumed nothing', { skip }, async (t) => {
  // Most of the time goes by waiting.
  t.jobs = 3;

  t.test('when its commit has no answer, it is found out what became of it', async (t) => {
    const { proxy, service, session, refresh } = await startSession(t);
    proxy.loseStatement(session, true);
    t.equal((await refresh()).status, 200, 'it was done');
    t.equal((await refresh()).status, 200, 'by the token that counts');
    proxy.loseStatement(session, false);
    t.equal((await refresh()).status, 503, 'it was not');
    t.equal((await refresh()).status, 200);
    t.strictSame(await service.stop(), { code: 0, signal: null });
  });

  t.test('when the database stays away for longer than the client waits, it is taken back', async (t) => {
    const { proxy, session, refresh } = await startSession(t);
    proxy.loseStatement(session, true);
    const start = performance.now();
    const pending = refresh();
    await sleep(30);
    await proxy.cut();
    const answer = await pending;
    t.equal(answer.status, 503);
    t.match(answer.headers.get('retry-after'), /^\d+$/);
    t.ok(performance.now() - start < 7_000, 'nobody is left waiting');
    const again = refresh();
    await sleep(300);
    await proxy.restore();
    const { status } = await again;
    t.match(String(status), /^(200|503)$/, 'who asks too soon waits, or is told to come back');
    if (status === 503) t.equal((await refresh()).status, 200, 'the token counts');
  });

  t.test('when it is done too late, it is taken back', async (t) => {
    const { session, sql, refresh } = await startSession(t);
    const pending = await sql.begin(async (tx) => {
      await tx`select from sessions where id = ${session} for update`;
      const late = refresh();
      await sleep(500);
      const impatient = refresh();
      await sleep(8_800);
      return [late, impatient] as const;
    });
    t.equal((await pending[0]).status, 503);
    t.equal((await pending[1]).status, 503, 'who asks meanwhile is told to come back');
    t.equal((await refresh()).status, 200, 'the token counts');
  });

  t.test('who is overtaken while waiting for the database is no thief', async (t) => {
    const { session, sql, refresh } = await startSession(t);
    const count = async () => (await sql`select from sessions where id = ${session}`).length;
    const [pending] = await sql.begin(async (tx) => {
      // By another instance, which has begun a minute ago.
      await tx`update sessions set generation = generation + 1, token_hash = 'another',
        recent_rotations = array[now() - interval '1 minute'] where id = ${session}`;
      const overtaken = refresh();
      await sleep(300);
      return [overtaken] as const;
    });
    t.equal((await pending).status, 401);
    t.equal(await count(), 1, 'the session goes on');
    t.equal((await refresh()).status, 401);
    t.equal(await count(), 0, 'who shows a replaced token later is one');
  });
});
