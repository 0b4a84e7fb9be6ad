import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import postgres from 'postgres';
import { growthCases, type Place } from './growth.js';
import { startRecorder } from './statements.js';

const folder = 'bench/plans';

/** Writes PostgreSQL's plan for each query of {@link growthCases}: a file per case, with the statements and their plans. */
export async function writePlans(place: Place): Promise<void> {
  const recorder = await startRecorder(place.database.variables);
  const sql = postgres(place.database.place, { max: 1, onnotice() {} });
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const { name, ask } of growthCases) {
    const { method, path, token, body } = ask(place);
    const headers = token ? { authorization: `Bearer ${token}` } : {};
    const { sent } = await recorder.record({ method, url: path, headers, ...(body ? { payload: body } : {}) });
    const parts: string[] = [`${name}\n${method} ${decodeURIComponent(path)}\n${place.database.users} users`];
    for (const { text, parameters } of sent) {
      if (!/^\s*(select|with|insert|update|delete)/i.test(text)) continue;
      // The transaction only explains the statement.
      const plan = await sql
        .begin(async (tx) => {
          const found = await tx.unsafe(`explain (costs off) ${text}`, parameters as never[]);
          return found.map((row) => String(row['QUERY PLAN'])).join('\n');
        })
        .catch((error: Error) => error.message);
      parts.push(`${text.replace(/\s+/g, ' ').trim()}\n\n${plan}`);
    }
    const file = name
      .replace(/[^\w]+/g, '-')
      .replace(/^-|-$/g, '')
      .toLowerCase();
    writeFileSync(`${folder}/${file}.txt`, `${parts.join(`\n\n${'-'.repeat(80)}\n`)}\n`);
  }
  await sql.end();
  await recorder.close();
}
