/**
 * `npm run bench`: compares the service with the floor and with other systems, on databases that it creates for the run
 * (README.md).
 *
 *   npm run bench -- [--engine postgres|embedded] [--users 1000000] [--rounds 9] [--seconds 4] [--without-peers]
 */
import { parseArgs } from 'node:util';
import { measureCounting } from './counting.js';
import { type Engine, fillDatabase } from './database.js';
import { measureGrowth, startPlace } from './growth.js';
import { measurePaired, pairedCases } from './paired.js';
import { comparePeers } from './peers/compare.js';
import { writePlans } from './plans.js';
import { type Results, writeResults } from './report.js';
import { measureResponsive } from './responsive.js';
import { startSetting } from './setting.js';

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: process.env.DATABASE_URL ? 'postgres' : 'embedded' },
    users: { type: 'string' },
    rounds: { type: 'string', default: '9' },
    seconds: { type: 'string', default: '4' },
    'without-peers': { type: 'boolean', default: false },
  },
});
const engine = values.engine as Engine;
const users = Number(values.users ?? (engine === 'postgres' ? 1_000_000 : 10_000));
const options = { rounds: Number(values.rounds), seconds: Number(values.seconds) };

console.log(`Filling a database with ${users} users …`);
const database = await fillDatabase(engine, users);
await database.writeOut();
const results: Results = { engine, users, paired: [] };
try {
  const setting = await startSetting(database);
  try {
    for (const one of pairedCases(setting)) results.paired.push(await measurePaired(one, setting, options));
  } finally {
    await setting.stop();
  }
  const fresh = await startSetting(database);
  try {
    results.responsive = await measureResponsive(fresh, { ...options, rounds: 3 });
  } finally {
    await fresh.stop();
  }
  if (engine === 'postgres') await growth();
  if (engine === 'postgres' && !values['without-peers']) results.peers = await comparePeers(database, options);
} finally {
  await database.drop();
}
console.log(`\n${writeResults(results)}`);

async function growth() {
  const small = await fillDatabase(engine, 10_000);
  const [few, many] = [await startPlace(small), await startPlace(database)];
  try {
    results.growth = await measureGrowth(few, many, options.rounds);
    results.counting = await measureCounting(many);
    await writePlans(many);
  } finally {
    await Promise.all([few.service.stop(), many.service.stop()]);
    await small.drop();
  }
}
