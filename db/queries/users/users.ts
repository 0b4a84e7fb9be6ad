import { eq } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { users } from '../../schema.js';

export async function writeLastPage(executor: Executor, id: string, page: string): Promise<void> {
  await executor.update(users).set({ lastPage: page }).where(eq(users.id, id));
}

export async function userExists(executor: Executor, id: string): Promise<boolean> {
  const [found] = await executor.select({ id: users.id }).from(users).where(eq(users.id, id));
  return found !== undefined;
}

export async function writePassword(tx: Executor, id: string, hash: string): Promise<void> {
  await tx.update(users).set({ password: hash }).where(eq(users.id, id));
}
