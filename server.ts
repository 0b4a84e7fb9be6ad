// Must be the first import.
import './plugins/platform/v8-tuning.js';
import closeWithGrace from 'close-with-grace';
import type { FastifyInstance } from 'fastify';
import { buildApp } from './app.js';
import { respondWhileStarting } from './plugins/http/startup-responder.js';
import { loadConfig, misspelledVariables } from './plugins/platform/config.js';
import { databaseLocation } from './plugins/platform/database.js';
import { startedOnTerminal, tolerateLostStreams } from './plugins/platform/standard-streams.js';
import { explainStartFailure } from './plugins/platform/startup-errors.js';
import { releaseStartupMemory } from './plugins/platform/v8-tuning.js';
import type { Config } from './schemas/config.js';

const misspelled = misspelledVariables().map(
  ({ name, intended }) => `The environment variable ${name} has no effect. Did you mean ${intended}?`,
);

tolerateLostStreams();

// By default, SIGHUP and SIGUSR2 would end the process, and SIGUSR1 would open a debugger.
for (const signal of ['SIGUSR1', 'SIGUSR2', ...(startedOnTerminal ? [] : ['SIGHUP'])]) process.on(signal, () => {});

/** Signals that do not stop the service gracefully. After a fault of the process itself, a handler would cause the same fault forever. */
const otherSignals = ['SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGSEGV', 'SIGUSR2', 'SIGHUP'] as const;

let config: Config | undefined;
try {
  config = loadConfig();
  const stopResponding = respondWhileStarting(config);
  const app = await buildApp(config, { onSettled: releaseStartupMemory, showsPassword: process.stdout.isTTY });
  for (const warning of misspelled) app.log.warn(warning);
  await app.ready();
  await stopResponding();
  const address = await listen(app);
  announce(app, address);
  let isStopping = false;
  const stopper = closeWithGrace(
    { delay: config.SHUTDOWN_DELAY + 10_000, logger: app.log, skip: [...otherSignals] },
    async ({ err }) => {
      isStopping = true;
      if (err) app.log.fatal({ err }, 'the service exits because of an unexpected error');
      else await app.drain();
      await app.close();
    },
  );
  // Closing a terminal usually sends several SIGHUPs, from the kernel and from the shell. Only the first may have an effect, because a
  // second signal ends the process immediately.
  if (startedOnTerminal) process.on('SIGHUP', () => void (isStopping || stopper.close()));
} catch (error) {
  const reason = explainStartFailure(error, config?.DATABASE_URL);
  process.stderr.write([`Gatehouse could not start. ${reason}`, ...misspelled, ''].join('\n'));
  process.exit(1);
}

async function listen(app: FastifyInstance): Promise<string> {
  const { HOST, PORT } = app.config;
  try {
    return await app.listen({ host: HOST, port: PORT, listenTextResolver: (address) => `listening on ${address}` });
  } catch (error) {
    // The account exists nevertheless, and the next start will not show the password.
    if (app.createdAdministrator?.password) tell(app, administratorOf(app), 'Administrator account created.');
    await app.close();
    throw error;
  }
}

/** Prints where the service listens and, on the first start only, how to log in. */
function announce(app: FastifyInstance, address: string): void {
  const { PORT, PUBLIC_URL } = app.config;
  const location = databaseLocation(app.config);
  const url = PORT === 0 ? PUBLIC_URL.replace(/:0$/, `:${new URL(address).port}`) : PUBLIC_URL;
  const facts = {
    listening: address,
    url,
    account: `${url}/account`,
    docs: `${url}/docs`,
    ...(app.mail.hasMailbox ? { mailbox: `${url}/mailbox?key=${app.mailbox.access.key}` } : {}),
    database: location.kind === 'embedded' ? `embedded, in ${location.dataDir}` : 'PostgreSQL',
    ...administratorOf(app),
  };
  const created = app.createdAdministrator ? ' Administrator account created.' : '';
  tell(app, facts, `Gatehouse is ready.${created}`);
}

/** The administrator, if this start created one, and where to find the generated password. */
function administratorOf({ createdAdministrator }: FastifyInstance): Record<string, string> {
  if (!createdAdministrator) return {};
  const { email, password, passwordFile } = createdAdministrator;
  return {
    administrator: email,
    ...(password === null ? {} : { password }),
    ...(passwordFile === null ? {} : { passwordFile }),
  };
}

/** Prints to a terminal, whatever LOG_LEVEL is. Without a terminal, writes a log line, which never contains a password. */
function tell(app: FastifyInstance, facts: Record<string, string>, message: string): void {
  if (!process.stdout.isTTY) {
    const { password: _never, ...logged } = facts;
    app.log.info(logged, message);
    return;
  }
  const lines = Object.entries(facts).map(([name, value]) => `  ${name.padEnd(14)} ${value}`);
  if (facts.password !== undefined) lines.push('', '  The password is shown only once. Save it now.');
  process.stdout.write(`\n${message}\n\n${lines.join('\n')}\n\n`);
}
