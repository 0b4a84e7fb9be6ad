/**
 * `npm run bench:smoke`: the shares of the floor in a minute, as a guard against a fall. Noise fails nothing; what is below half
 * of what is wanted does.
 */
import { fillDatabase } from './database.js';
import { measurePaired, pairedCases, percent } from './paired.js';
import { startSetting } from './setting.js';

const database = await fillDatabase(process.env.DATABASE_URL ? 'postgres' : 'embedded', 10_000);
const fallen: string[] = [];
try {
  const setting = await startSetting(database);
  try {
    for (const one of pairedCases(setting)) {
      const { name, ratio, target } = await measurePaired(one, { rounds: 3, seconds: 1.5 });
      if (ratio.median < target / 2) fallen.push(`${name}: ${percent(ratio.median)}, wanted ${percent(target)}`);
    }
  } finally {
    await setting.stop();
  }
} finally {
  await database.drop();
}
if (fallen.length > 0) {
  console.error(`Below half of what is wanted:\n${fallen.join('\n')}`);
  process.exitCode = 1;
}
