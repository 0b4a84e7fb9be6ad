import postgres from 'postgres';
import type { Place } from './growth.js';
import { median } from './statistics.js';

export interface CountingResult {
  /** Median times in milliseconds: of the request, and of PostgreSQL's own `count(*)` on the table. */
  service: number;
  floor: number;
  ratio: number;
}

/** Compares `meta=total_count` with the time that PostgreSQL takes to count the same rows. */
export async function measureCounting({ database, service, admin }: Place): Promise<CountingResult> {
  const sql = postgres(database.place, { max: 1, onnotice() {} });
  const times = { service: [] as number[], floor: [] as number[] };
  const timed = async (side: 'service' | 'floor', work: () => Promise<unknown>) => {
    const start = performance.now();
    await work();
    times[side].push(performance.now() - start);
  };
  for (let round = 0; round < 15; round++) {
    await timed('floor', () => sql`select count(*) from users`);
    await timed('service', async () => {
      const headers = { authorization: `Bearer ${admin}` };
      const answer = await fetch(`${service.url}/users?limit=1&fields=id&meta=total_count`, { headers });
      await answer.arrayBuffer();
    });
  }
  await sql.end();
  const result = { service: median(times.service), floor: median(times.floor) };
  const ratio = result.service / result.floor;
  console.log(`meta=total_count: ${result.service.toFixed(1)} ms, count(*) ${result.floor.toFixed(1)} ms`);
  return { ...result, ratio };
}
