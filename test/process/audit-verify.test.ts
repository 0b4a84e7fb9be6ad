// @suite postgres-only: only PostgreSQL allows a second process beside the service
// @suite not-everyday: starts many processes

import { setTimeout } from 'node:timers/promises';
import t from 'tap';
import { engine } from '../helpers/database/databases.js';
import { askStored, verifyAuditLog as verify } from '../helpers/database/stored.js';
import { runCommand } from '../helpers/service/command.js';
import { createHome, type Home, logIn, startService } from '../helpers/service/service.js';

/** The output and exit code of `npm run audit:begin`. */
const begin = (home: Home) => runCommand(home, 'audit-begin', [], variables);

const variables = { PASSWORD_HASH_MEMORY: '8192', PASSWORD_HASH_TIME: '1' };

t.test('audit:verify reports whether the audit log is intact, altered, or cannot be verified', async (t) => {
  const home = await createHome(t, { prepared: true });
  if (engine === 'embedded') {
    const none = await verify(await createHome(t));
    t.equal(none.code, 2);
    t.match(none.said, /cannot be verified\. There is no database in \.\/data/);
  }
  const service = await startService(home, variables);
  for (let index = 0; index < 3; index++) t.equal((await logIn(service, service.password)).status, 200);
  // Slightly longer than the interval at which rows are linked.
  await setTimeout(4_000);
  const beside = await verify(home);
  if (engine === 'embedded') {
    t.equal(beside.code, 2);
    t.match(beside.said, /in use by another Gatehouse process/);
  } else t.equal(beside.code, 0, beside.said);
  await service.stop();

  const intact = await verify(home);
  t.equal(intact.code, 0, intact.said);
  t.match(intact.said, /^The audit log is intact: 3 rows, positions 1 to 3; 0 rows are signed but not yet linked/);
  const [head = ''] = /--head=\S+/.exec(intact.said) ?? [];
  const noted = await verify(home, [head]);
  t.equal(noted.code, 0);
  t.match(noted.said, /It contains the head that you passed\./);
  const other = await verify(home, [head.replace(/.$/, (last) => (last === 'A' ? 'E' : 'A'))]);
  t.equal(other.code, 1);
  t.match(other.said, /^The audit log was altered or is incomplete\. Position 3 does not have the noted hash/);
  const nonsense = await verify(home, ['--head=3']);
  t.equal(nonsense.code, 2);
  t.match(nonsense.said, /--head must be a position and a hash/);
  const stranger = await verify(home, [], { SECRET: 'a secret that has nothing to do with it' });
  t.equal(stranger.code, 1);
  t.match(stranger.said, /signed with an unknown SECRET/);

  await askStored(home, "update activity set ip = '192.0.2.1' where position = 2");
  const altered = await verify(home);
  t.equal(altered.code, 1);
  t.match(altered.said, /^The audit log was altered or is incomplete\. Position 2 \(row .*\) was altered/);
  await askStored(home, 'delete from activity where position = 2');
  const removed = await verify(home);
  t.equal(removed.code, 1);
  t.match(removed.said, /Position 2 is missing/);

  // The log is emptied, as an attacker would do it.
  const early = await begin(home);
  t.equal(early.code, 1);
  t.match(early.said, /^No new chain was begun\. Save the tables activity and activity_chain, and empty both first/);
  await askStored(home, 'delete from activity');
  t.equal((await begin(home)).code, 1, 'the end of the chain is still marked');
  await askStored(home, 'delete from activity_chain');
  const emptied = await verify(home);
  t.equal(emptied.code, 1);
  t.match(emptied.said, /row that marks the ends of the chain is missing.* the log was emptied/);

  const watching = await startService(home, variables);
  t.equal((await logIn(watching, service.password)).status, 200);
  const isReported = () => watching.stdout.includes('"the audit log could not be linked"');
  for (let waited = 0; waited < 10_000 && !isReported(); waited += 50) await setTimeout(50);
  t.ok(isReported(), 'the service reports that it does not link new rows');
  await watching.stop();
  t.equal((await verify(home)).code, 1);
  const begun = await begin(home);
  t.equal(begun.code, 0, begun.said);
  const renewed = await verify(home);
  t.equal(renewed.code, 0, renewed.said);
  t.match(renewed.said, /intact: it is new, and no rows are linked yet; 1 row is signed but not yet linked/);
});
