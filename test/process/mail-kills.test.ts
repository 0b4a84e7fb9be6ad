// @suite everyday-on-embedded: the embedded database must survive a kill, too

import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { startSmtp } from '../helpers/mail/smtp.js';
import { freePort } from '../helpers/servers/ports.js';
import { createHome, type Service, startService } from '../helpers/service/service.js';

/** `npm run test:kills` runs 50 kills. */
const kills = Number(process.env.KILLS ?? 1);

const token = 'the-static-token-of-the-administrator';
const authorization = { authorization: `Bearer ${token}` };

t.test(`after ${kills} × kill -9, every acknowledged email arrives`, async (t) => {
  const port = await freePort();
  const { mails } = await startSmtp(t, port);
  const home = await createHome(t, { prepared: true });
  const variables = {
    ADMIN_TOKEN: token,
    ADMIN_PASSWORD: 'the password of the administrator',
    PASSWORD_HASH_MEMORY: '8192',
    PASSWORD_HASH_TIME: '1',
    REGISTRATION_ANSWER_TIME: '5ms',
    EMAIL_TRANSPORT: 'smtp',
    EMAIL_SMTP_HOST: '127.0.0.1',
    EMAIL_SMTP_PORT: String(port),
    EMAIL_RETRY_DELAY: '1s',
  };
  const acknowledged: string[] = [];
  let count = 0;

  /** Requests each of the three kinds of email repeatedly, until the service is gone. */
  const askRepeatedly = async (service: Service, role: string) => {
    for (;;) {
      const address = `somebody-${++count}@example.com`;
      const expected = [
        ['/users/invite', { email: address, role }, authorization],
        ['/users/register', { email: `new-${address}`, password: 'a good long password' }, {}],
        ['/auth/password/request', { email: 'admin@example.com' }, {}],
      ] as const;
      for (const [path, body, headers] of expected) {
        const status = await service.post(path, body, headers).then(
          (answer) => answer.status,
          () => 0,
        );
        if (status === 0) return;
        if (status === 204) acknowledged.push(body.email);
        else t.match(String(status), /^503$/, path);
      }
      await sleep(40);
    }
  };

  let role = '';
  for (let kill = 0; kill < kills; kill++) {
    const service = await startService(home, variables);
    if (role === '') {
      const made = await service.post('/roles', { name: 'Invited' }, authorization);
      role = ((await made.json()) as { data: { id: string } }).data.id;
      const settings = { method: 'PATCH', headers: { ...authorization, 'content-type': 'application/json' } };
      await fetch(`${service.url}/settings`, { ...settings, body: '{"public_registration": true}' });
    }
    const asking = [askRepeatedly(service, role), askRepeatedly(service, role)];
    await sleep(100 + ((kill * 137) % 900));
    // On a slow machine, the service may not have acknowledged anything yet, so nothing could be lost.
    while (acknowledged.length <= kill) await sleep(20);
    await service.stop('SIGKILL');
    await Promise.all(asking);
  }

  const last = await startService(home, variables);
  const arrived = () => {
    const left = [...acknowledged];
    for (const { to } of mails) {
      const place = left.indexOf(to[0] ?? '');
      if (place >= 0) left.splice(place, 1);
    }
    return left;
  };
  // On PostgreSQL, an email that was being sent waits for a minute, because another process might be sending it.
  for (const end = performance.now() + 180_000; arrived().length > 0 && performance.now() < end; ) await sleep(250);
  t.comment(`${acknowledged.length} acknowledged, ${mails.length} emails`);
  t.ok(acknowledged.length > 0);
  t.strictSame(arrived(), []);
  t.strictSame(await last.stop(), { code: 0, signal: null });
});
