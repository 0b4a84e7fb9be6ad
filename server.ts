// Before all else is loaded.
import './plugins/start-memory.js';
import closeWithGrace from 'close-with-grace';
import type { FastifyInstance } from 'fastify';
import { buildApp } from './app.js';
import { loadConfig } from './plugins/config.js';
import { explainStartFailure } from './plugins/start-failure.js';
import { settleMemory } from './plugins/start-memory.js';

try {
  const config = loadConfig();
  const app = await buildApp(config, { onSettled: settleMemory });
  const address = await listen(app);
  announce(app, address);
  closeWithGrace({ delay: 10_000, logger: app.log }, async ({ err }) => {
    if (err) app.log.fatal({ err }, 'an unexpected error ends the service');
    await app.close();
  });
} catch (error) {
  process.stderr.write(`Gatehouse does not start. ${explainStartFailure(error)}\n`);
  process.exit(1);
}

async function listen(app: FastifyInstance): Promise<string> {
  const { HOST, PORT } = app.config;
  try {
    return await app.listen({ host: HOST, port: PORT, listenTextResolver: (address) => `listening on ${address}` });
  } catch (error) {
    // The administrator has been made all the same, and the next start won't say the password.
    if (app.madeAdministrator?.password) tell(app, credentials(app), 'Gatehouse made its administrator');
    await app.close();
    throw error;
  }
}

/** Says where the service is to be found and, at the first start only, how to log in. */
function announce(app: FastifyInstance, address: string): void {
  const { PORT, PUBLIC_URL, DATABASE_URL, DATA_DIR } = app.config;
  const url = PORT === 0 ? PUBLIC_URL.replace(/:0$/, `:${new URL(address).port}`) : PUBLIC_URL;
  const facts = {
    listening: address,
    url,
    docs: `${url}/docs`,
    ...(app.mail.hasMailbox ? { mailbox: `${url}/mailbox` } : {}),
    database: DATABASE_URL === undefined ? `embedded, in ${DATA_DIR}` : 'PostgreSQL',
    ...credentials(app),
  };
  tell(app, facts, app.madeAdministrator ? 'Gatehouse is ready; it made its administrator' : 'Gatehouse is ready');
}

/** The administrator, when this start has made one; and the password, when it was made up. */
function credentials({ madeAdministrator }: FastifyInstance): { administrator?: string; password?: string } {
  if (!madeAdministrator) return {};
  const { email, password } = madeAdministrator;
  return { administrator: email, ...(password === null ? {} : { password }) };
}

/** Text for people on a terminal, a line of the log otherwise. A password is told whatever LOG_LEVEL is. */
function tell(app: FastifyInstance, facts: Record<string, string>, message: string): void {
  const hasPassword = facts.password !== undefined;
  if (!process.stdout.isTTY) {
    const log = hasPassword ? app.log.child({}, { level: 'info' }) : app.log;
    log.info(facts, message);
    return;
  }
  const lines = Object.entries(facts).map(([name, value]) => `  ${name.padEnd(14)} ${value}`);
  if (hasPassword) lines.push('', '  The password is shown this once. Keep it.');
  process.stdout.write(`\n${message.split(';', 1)[0]}.\n\n${lines.join('\n')}\n\n`);
}
