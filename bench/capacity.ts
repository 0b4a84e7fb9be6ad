/**
 * `npm run bench:capacity`: takes the measurements behind `docs/capacity.md`, on a PostgreSQL that nothing else uses during the
 * run, and with an nginx and a Redis that it starts. Writes `bench/results/capacity.json`, and updates the tables of the
 * document.
 *
 *   DATABASE_URL=postgres://… npm run bench:capacity -- [--users 100000] [--rounds 3] [--seconds 5]
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import postgres from 'postgres';
import { type CapacityResults, resultsFile, writeCapacityDoc } from './capacity-doc.js';
import { fillDatabase } from './database.js';
import type { HashingInput } from './hashing.js';
import { measureInstances } from './instances.js';
import { describeMachine } from './machine.js';
import { measureConnections, measureOperations } from './operations.js';
import { runProgram } from './processes.js';
import { measureSizes } from './sizes.js';

const { values } = parseArgs({
  options: {
    users: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
  },
});
const options = { rounds: Number(values.rounds), seconds: Number(values.seconds) };
const users = Number(values.users);

console.log(`Filling a database with ${users} users …`);
const database = await fillDatabase('postgres', users);
const sql = postgres(database.place, { max: 1, onnotice() {} });
try {
  const hashing: CapacityResults['hashing'] = [];
  for (const concurrency of new Set([1, availableParallelism()])) {
    const input: HashingInput = { seconds: options.seconds, concurrency, work: 'verify' };
    const { rate } = await runProgram<{ rate: number }>('bench/hashing.js', input);
    hashing.push({ concurrency, rate });
    console.log(`Argon2, ${concurrency} at a time: ${rate.toFixed(1)} a second`);
  }
  const operations = await measureOperations(database, sql);
  const sizes = await measureSizes(sql, users);
  const connections = await measureConnections(database, options);
  const instances = await measureInstances(database, options);
  const [{ version = '' } = {}] = await sql`select current_setting('server_version') as version`;
  const results: CapacityResults = {
    machine: { ...describeMachine(), postgres: String(version) },
    users,
    ...options,
    hashing,
    operations,
    sizes,
    connections,
    instances,
  };
  mkdirSync('bench/results', { recursive: true });
  writeFileSync(resultsFile, `${JSON.stringify(results, null, 2)}\n`);
  writeCapacityDoc();
} finally {
  await sql.end();
  await database.drop();
}
