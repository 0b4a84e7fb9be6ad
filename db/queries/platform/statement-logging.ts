import { sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { rows } from '../../statements.js';

/** Whether the server writes the parameters of statements to its log. They include password hashes. PostgreSQL only. */
export async function logsParameters(executor: Executor): Promise<boolean> {
  const found = await rows<{ name: string; setting: string }>(
    executor,
    sql`select name, setting from pg_settings where name in
    ('log_statement', 'log_min_duration_statement', 'log_min_duration_sample', 'log_parameter_max_length')`,
  );
  const settings = new Map(found.map(({ name, setting }) => [name, setting]));
  const logsSlow = ['log_min_duration_statement', 'log_min_duration_sample'].some(
    (name) => settings.get(name) !== '-1',
  );
  const logsAll = ['mod', 'all'].includes(settings.get('log_statement') ?? '');
  return (logsSlow || logsAll) && settings.get('log_parameter_max_length') !== '0';
}
