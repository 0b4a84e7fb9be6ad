import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { createTestDatabase, engine } from '../helpers/database/databases.js';
import { startSmtp } from '../helpers/mail/smtp.js';
import { readGuide } from '../helpers/project/guide.js';
import { atEndOf } from '../helpers/runner/teardown.js';
import { freePort } from '../helpers/servers/ports.js';
import { bearer } from '../helpers/service/app.js';
import { createHome, logIn, logLines, type Service, startService } from '../helpers/service/service.js';
import { cheapHashing } from '../helpers/service/variables.js';

const skip = engine === 'embedded' && 'PostgreSQL only; test/process/guides.test.ts restores the embedded database';

/** The commands of the guide that contain a text. */
const commandsWith = (text: string): string =>
  readGuide('docs/deployment.md').find((block) => block.language === 'sh' && block.text.includes(text))?.text ?? '';

t.test('a backup is restored on an empty server, and a trial sends no emails', { skip }, async (t) => {
  const smtpPort = await freePort();
  const variables = {
    ...cheapHashing,
    ADMIN_PASSWORD: 'the password of the administrator',
    EMAIL_TRANSPORT: 'smtp',
    EMAIL_SMTP_PORT: String(smtpPort),
    // Long enough for a backup between two attempts.
    EMAIL_RETRY_DELAY: '10s',
  };
  const home = await createHome(t);
  const service = await startService(home, variables);
  const { body } = await logIn(service, variables.ADMIN_PASSWORD);
  const token = bearer(body.data.access_token);
  // The mail server is down, so the email waits.
  t.equal((await service.post('/auth/password/request', { email: 'admin@example.com' })).status, 204);

  const run = (text: string, url: string) =>
    spawnSync('bash', ['-euo', 'pipefail', '-c', text], {
      cwd: home.directory,
      env: { PATH: process.env.PATH, DATABASE_URL: url },
      encoding: 'utf8',
    });
  // An email that is being sent is not sent again before its time limit is over, so the first attempt has to end first.
  for (let waited = 0; !(await mails(service, token)).some(failedOnce) && waited < 20_000; waited += 50)
    await sleep(50);
  const backup = run(commandsWith('pg_dump '), String(home.variables.DATABASE_URL));
  t.equal(backup.status, 0, backup.stderr);
  await service.stop();

  const empty = await createTestDatabase();
  atEndOf(t, () => empty.drop());
  const url = empty.url ?? '';
  for (const place of ['an empty database', 'a database that has been used']) {
    const restored = run(commandsWith('pg_restore '), url);
    t.equal(restored.status, 0, `${place}: ${restored.stderr}`);
  }

  const smtp = await startSmtp(t, smtpPort);
  const trial = await startService(home, { ...variables, DATABASE_URL: url, EMAIL_PAUSED: 'true' });
  const login = await logIn(trial, variables.ADMIN_PASSWORD);
  t.equal(login.status, 200);
  t.equal((await trial.get('/users/me', token)).status, 401, 'sessions were not restored');
  await sleep(5_000);
  t.strictSame(smtp.mails, [], 'the waiting email is not sent');
  t.ok((await mails(trial, bearer(login.body.data.access_token))).every(failedOnce), 'it is still waiting');
  t.ok(logLines(trial.stdout).some(({ msg }) => msg === 'EMAIL_PAUSED is set: emails wait in the queue'));
  await trial.stop();

  const real = await startService(home, { ...variables, DATABASE_URL: url });
  for (let waited = 0; smtp.mails.length === 0 && waited < 20_000; waited += 100) await sleep(100);
  t.equal(smtp.mails.length, 1, 'without EMAIL_PAUSED, the email is sent');
  await real.stop();
});

interface Mail {
  state: string;
  attempts: number;
}

async function mails(service: Service, token: Record<string, string>): Promise<Mail[]> {
  const { data } = (await (await service.get('/mails', token)).json()) as { data: Mail[] };
  return data;
}

const failedOnce = ({ state, attempts }: Mail): boolean => state === 'waiting' && attempts === 1;
