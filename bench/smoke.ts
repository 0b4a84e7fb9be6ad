/**
 * `npm run bench:smoke`: measures the shares of the floor within a minute, to catch a drop in performance. To tolerate noise, a
 * case that reaches less than half of its target is measured once more, and fails only if it falls short again.
 */
import { fillDatabase } from './database.js';
import { measurePaired, type PairedCase, pairedCases, percent } from './paired.js';
import { type Setting, startSetting } from './setting.js';

const start = performance.now();
const isFallen = async (one: PairedCase, setting: Setting, rounds: number) => {
  const { ratio, target } = await measurePaired(one, setting, { rounds, seconds: 1 });
  return ratio.median < target / 2 ? `${one.name}: ${percent(ratio.median)}, target ${percent(target)}` : undefined;
};

const database = await fillDatabase(process.env.DATABASE_URL ? 'postgres' : 'embedded', 10_000);
const fallen: string[] = [];
try {
  const setting = await startSetting(database);
  try {
    for (const one of pairedCases(setting)) {
      if (!(await isFallen(one, setting, 2))) continue;
      console.log('… once more:');
      const again = await isFallen(one, setting, 5);
      if (again) fallen.push(again);
    }
  } finally {
    await setting.stop();
  }
} finally {
  await database.drop();
}
console.log(`${Math.round((performance.now() - start) / 1_000)} seconds`);
if (fallen.length > 0) {
  console.error(`Below half of the target:\n${fallen.join('\n')}`);
  process.exitCode = 1;
}
