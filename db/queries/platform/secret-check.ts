import type { Executor } from '../../client.js';
import { secretCheck } from '../../schema.js';

/** The check value of the SECRET that the database is used with; undefined if the database has not been used yet. */
export async function readSecretCheck(executor: Executor): Promise<string | undefined> {
  const [found] = await executor.select({ value: secretCheck.value }).from(secretCheck);
  return found?.value;
}

export async function writeSecretCheck(executor: Executor, value: string): Promise<void> {
  await executor.insert(secretCheck).values({ value }).onConflictDoUpdate({ target: secretCheck.id, set: { value } });
}
