// @suite everyday-on-embedded: the embedded database must survive a kill, too

import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { engine } from '../helpers/database/databases.js';
import { assertAcknowledgedKept, assertStoredCompletely } from '../helpers/load/kept.js';
import { summaryOf } from '../helpers/load/ledger.js';
import { createLoad } from '../helpers/load/world.js';
import { freePort } from '../helpers/servers/ports.js';
import { createHome, refusedService, type Service, startService } from '../helpers/service/service.js';

/** `npm run test:soak` runs 100 kills. */
const { KILLS } = process.env;
const kills = Number(KILLS ?? 2);

const refusal = /The data directory \S+ is in use by another Gatehouse process\./;

const crowds = {
  'under load': { registers: 2, invites: 2, resets: 2, refreshes: 3, logsIn: 1 },
  'while users add, use, and remove passkeys': { usesPasskeys: 6 },
};

for (const [circumstances, crowd] of Object.entries(crowds)) {
  t.test(
    `after ${kills} × kill -9 ${circumstances}, everything acknowledged is stored, and nothing is stored partially`,
    async (t) => {
      const home = await createHome(t, { prepared: true });
      const port = await freePort();
      const load = await createLoad(t, () => `http://127.0.0.1:${port}`, crowd);
      // On a slow machine, a start may take longer than the default grace period, so a repeated refresh would count as
      // reuse of a stolen token.
      const variables = { ...load.variables, PORT: String(port), SESSION_REFRESH_GRACE_PERIOD: '60s' };
      const { notes } = load.asking;
      const answered = () => notes.filter(({ status }) => status > 0 && status < 300).length;

      let service: Service | undefined;
      let slowestStart = 0;
      for (let kill = 0; kill < kills; kill++) {
        const start = performance.now();
        service = await startService(home, variables);
        slowestStart = Math.max(slowestStart, performance.now() - start);
        if (kill === 0) await load.begin();
        const before = answered();
        // Normally, once is sufficient, because this starts another process.
        if (engine === 'embedded' && (kill === 0 || KILLS !== undefined)) {
          const second = await refusedService(home, variables);
          t.equal(second.code, 1, 'a second process on the data directory is rejected');
          t.match(second.stderr, refusal);
        }
        await sleep(100 + ((kill * 137) % 900));
        // On a slow machine, few requests may have been answered so far.
        while (answered() < before + 20) await sleep(20);
        await service.stop('SIGKILL');
        t.comment(`${kill + 1} of ${kills} kills, ${answered()} requests done`);
      }
      service = await startService(home, variables);
      await sleep(300);
      await load.end();
      t.comment(`the slowest start took ${Math.round(slowestStart)} ms; ${summaryOf(load.ledger)}`);

      const statuses = new Set(notes.map(({ status }) => status));
      t.notOk(statuses.has(500), 'no request failed because of an internal error');
      await assertAcknowledgedKept(t, load);
      t.strictSame(await service.stop(), { code: 0, signal: null });
      await assertStoredCompletely(t, home, variables, load.ledger);
    },
  );
}
