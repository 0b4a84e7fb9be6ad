// @suite embedded-only: hardly depends on the engine
// @suite not-everyday: tries many cases

import t from 'tap';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { collectLog } from '../helpers/service/collect-log.js';
import { administrator } from '../helpers/users/credentials.js';
import { policyWith } from '../helpers/users/rights.js';
import { createUserWithToken } from '../helpers/users/users.js';

// How proxies write the address of the client in X-Forwarded-For. Wherever the service uses the address, it has only one form.

const proxy = '10.0.0.1';
const notations: [entry: string, address: string | null][] = [
  ['203.0.113.7', '203.0.113.7'],
  ['203.0.113.7:51234', '203.0.113.7'],
  ['  203.0.113.7:443  ', '203.0.113.7'],
  ['"203.0.113.7:51234"', '203.0.113.7'],
  ['203.0.113.7:_hidden', '203.0.113.7'],
  ['203.0.113.7:', '203.0.113.7'],
  ['[203.0.113.7]', '203.0.113.7'],
  ['[203.0.113.7]:80', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['::FFFF:cb00:7107', '203.0.113.7'],
  ['[::ffff:203.0.113.7]:443', '203.0.113.7'],
  ['2001:db8::7', '2001:db8::7'],
  ['2001:DB8:0:0:0:0:0:7', '2001:db8::7'],
  ['[2001:db8::7]', '2001:db8::7'],
  ['[2001:db8::7]:51234', '2001:db8::7'],
  ['"[2001:db8::7]:51234"', '2001:db8::7'],
  ['"[2001:db8::7]"', '2001:db8::7'],
  ['[fe80::7%eth0]:443', 'fe80::7'],
  [`fe80::7%${'z'.repeat(300)}`, 'fe80::7'],
  ...[
    ...['unknown', '_hidden', 'localhost', 'localhost:443', '203.0.113.7:123456', '203.0.113.7:80:80'],
    ...['203.0.113.256', '203.0.113.7.8', '0xcb007107', '203.0.113.07', '[2001:db8::7', '2001:db8::7]'],
    ...['[]', '[]:80', '[2001:db8::g]:80', '"', '""', '"203.0.113.7', `${'9'.repeat(4000)}:80`, "' or 1=1 --"],
  ].map((entry): [string, null] => [entry, null]),
];

const { lines, logger } = collectLog('info');
const service = await startTestApp(t, { TRUST_PROXY: '1' }, { logger });
const { app, request } = service;
const from = (forwarded: string) => ({ remoteAddress: proxy, headers: { 'x-forwarded-for': forwarded } });

t.test('sessions, the audit log, the log, and ip_access contain the bare address', async (t) => {
  const ranges = ['203.0.113.7', '2001:db8::7/128', 'fe80::7'];
  const policy = await policyWith(app, [{ collection: 'users', action: 'read', fields: ['*'] }], { ipAccess: ranges });
  const holder = await createUserWithToken(app, { policies: [policy] });
  for (const [entry, address] of notations) {
    const what = entry.slice(0, 40);
    lines.length = 0;
    const login = await request({ method: 'POST', url: '/auth/login', payload: administrator, ...from(entry) });
    t.equal(lines.find(({ msg }) => msg === 'request')?.ip, address, `${what}: the log`);
    const headers = bearer(login.json().data.access_token);
    const sessions = await request({ method: 'GET', url: '/users/me/sessions', headers });
    const current = sessions.json().data.find((session: { current: boolean }) => session.current);
    t.equal(current.address, address, `${what}: the session`);
    const query = encodeURIComponent(JSON.stringify({ action: { _eq: 'login' } }));
    const events = await request({ url: `/activity?filter=${query}&sort=-timestamp&limit=1`, headers });
    t.equal(events.json().data[0].ip, address, `${what}: the audit log`);
    const forwarded = { remoteAddress: proxy, headers: { ...holder.headers, 'x-forwarded-for': entry } };
    const read = await request({ url: '/users?fields=id&limit=1', ...forwarded });
    t.equal(read.statusCode, address === null ? 403 : 200, `${what}: ip_access`);
  }
});

t.test('a client is not limited together with others, and does not evade its limit with another port', async (t) => {
  const limited = await startTestApp(t, {
    TRUST_PROXY: '10.0.0.0/8, fd00::/8',
    RATE_LIMITER_ENABLED: 'true',
    RATE_LIMITER_POINTS: '3',
    RATE_LIMITER_DURATION: '3600',
  });
  const ask = async (forwarded: string) =>
    (await limited.request({ url: '/server/info', ...from(forwarded) })).statusCode;
  const clients = Array.from({ length: 150 }, (_, index) => `203.0.113.${index}:${40_000 + index}`);
  const statuses = await Promise.all(clients.map(ask));
  t.strictSame(new Set(statuses), new Set([200]), '150 clients of one proxy');
  const behind = Array.from({ length: 10 }, (_, index) => `192.0.2.${index}:80, 10.9.9.9:${index}, [fd00::1]:${index}`);
  t.strictSame(new Set(await Promise.all(behind.map(ask))), new Set([200]), '10 clients of proxies with a port');

  for (const [what, format] of Object.entries({
    'IPv4 with a port': (index: number) => `198.51.100.1:${index}`,
    'IPv6 with a port': (index: number) => `[2001:db8::1]:${index}`,
    'a zone': (index: number) => `[fe80::1%${index}]:80`,
    'another prefix, which the client sent': (index: number) => `192.0.2.${index}, 198.51.100.2:80`,
    'a proxy with a port': (index: number) => `198.51.100.3:${index}, 10.9.9.9:${index}, [fd00::1]:${index}`,
  })) {
    const answers: number[] = [];
    for (let index = 0; index < 5; index++) answers.push(await ask(format(index)));
    t.strictSame(answers, [200, 200, 200, 429, 429], what);
  }
});
