import t from 'tap';
import { settings } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { startTestApp } from '../helpers/service/app.js';
import { minute } from '../helpers/service/clock.js';
import { assertUnchanged } from '../helpers/users/rights.js';

const { app, post } = await startTestApp(t);
const check = (body: object) => post('/auth/password/check', body);

t.test('checking a password stores nothing', async (t) => {
  await app.db.update(settings).set({ projectName: 'Kestrelwick', authPasswordPolicy: '^[^x]*$' });
  const ada = { email: 'ada@brzeczyszczykiewicz.example', first_name: 'Chrząszcz', last_name: null };
  const cases: [body: { password: string }, reasons: string[]][] = [
    [{ password: 'a fine long password' }, []],
    [{ password: 'vRk3#tZ' }, ['too_short']],
    [{ password: '' }, ['too_short', 'too_common']],
    [{ password: 'Password1!' }, ['too_common']],
    [{ password: 'a fine long password, with an x' }, ['policy']],
    [{ password: 'brzeczyszczykiewicz', ...ada }, ['own_words']],
    [{ password: 'Chrząszcz7', ...ada }, ['own_words']],
    [{ password: 'kestrelwick' }, ['own_words']],
    [{ password: 'brzeczyszczykiewicz' }, []],
  ];
  await assertUnchanged(t, app, 'nothing is stored', async () => {
    for (const [body, reasons] of cases) {
      const answer = await check(body);
      t.equal(answer.statusCode, 200);
      t.strictSame(answer.json(), { data: { acceptable: reasons.length === 0, reasons } }, JSON.stringify(body));
    }
  });
  await app.db.update(settings).set({ authPasswordPolicy: null });
});

t.test('an invalid request is rejected', async (t) => {
  const password = 'a fine long password';
  for (const body of [
    {},
    { password: 7 },
    { password: 'x'.repeat(1_025) },
    { password, email: 7 },
    { password, extra: 1 },
    { password: '$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW' },
  ]) {
    refused(t, await check(body), 'INVALID_PAYLOAD', JSON.stringify(body).slice(0, 60));
  }
});

t.test('each IP address can check sixty passwords a minute', async (t) => {
  const { request, clock } = await startTestApp(t, { RATE_LIMITER_ENABLED: 'true', RATE_LIMITER_POINTS: '1000' });
  const ask = (remoteAddress: string) =>
    request({ method: 'POST', url: '/auth/password/check', payload: { password: 'a fine password' }, remoteAddress });
  for (let index = 0; index < 60; index++) t.equal((await ask('192.0.2.1')).statusCode, 200);
  refused(t, await ask('192.0.2.1'), 'REQUESTS_EXCEEDED', 'the next request');
  t.equal((await ask('192.0.2.2')).statusCode, 200, 'another address');
  clock.advance(minute);
  t.equal((await ask('192.0.2.1')).statusCode, 200, 'a minute later');
});
