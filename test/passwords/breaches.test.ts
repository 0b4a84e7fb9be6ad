import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { atEndOf } from '../helpers/runner/teardown.js';
import { startTestApp } from '../helpers/service/app.js';
import { createPolicy } from '../helpers/users/rights.js';
import { createUserWithToken } from '../helpers/users/users.js';

const breached = 'vRk3#tZ9 was good once';
/** A password whose hash is listed with a count of 0, as padding entries are. */
const padding = 'a padding line is no hit';

const ranges = new Map<string, string>();
for (const [password, count] of [
  [breached, 3],
  [padding, 0],
] as const) {
  const { createHash } = await import('node:crypto');
  const hash = createHash('sha1').update(password).digest('hex').toUpperCase();
  ranges.set(hash.slice(0, 5), `0018A45C4D1DEF81644B54AB7F969B88D65:1\r\n${hash.slice(5)}:${count}\r\n`);
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;
const asked: { url: string; headers: IncomingMessage['headers'] }[] = [];
const serve: Handler = ({ url = '', headers }, response) => {
  asked.push({ url, headers });
  response.end(ranges.get(url.split('/').at(-1) ?? '') ?? '0018A45C4D1DEF81644B54AB7F969B88D65:1');
};
let handle = serve;
const mirror = createServer((request, response) => handle(request, response));
await new Promise<void>((resolve) => mirror.listen(0, '127.0.0.1', resolve));
atEndOf(t, async () => {
  mirror.closeAllConnections();
  mirror.close();
});
const origin = `http://127.0.0.1:${(mirror.address() as AddressInfo).port}`;

const { app, post } = await startTestApp(t, { PASSWORD_BREACH_CHECK: `${origin}/range` });
const { headers } = await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] });
let count = 0;
const create = (password: string) => post('/users', { email: `breach-${++count}@example.com`, password }, headers);

t.test('a password known from a breach is rejected, and only five digits of its hash are sent', async (t) => {
  const refused = await create(breached);
  t.equal(refused.statusCode, 400);
  t.match(refused.json().errors[0].extensions, { code: 'FAILED_VALIDATION', field: 'password', type: 'breached' });
  t.equal(asked.length, 1);
  t.match(asked[0]?.url, /^\/range\/[0-9A-F]{5}$/);
  t.equal(asked[0]?.headers['add-padding'], 'true');
  t.equal((await create(padding)).statusCode, 200, 'a padding entry is not a match');
  t.equal((await create('not in any breach at all')).statusCode, 200);
});

t.test('a password rejected for another reason is not sent to the mirror', async (t) => {
  asked.length = 0;
  for (const password of ['short', 'Password1!']) t.equal((await create(password)).statusCode, 400);
  t.strictSame(asked, []);
});

t.test('a password is accepted if the mirror returns no useful response', async (t) => {
  const useless: Record<string, Handler> = {
    'an error': (_, response) => response.writeHead(503).end(ranges.values().next().value),
    'a redirect': (_, response) => response.writeHead(302, { location: `${origin}/elsewhere` }).end(),
    'no response': () => {},
    'an endless response': (_, response) => {
      const timer = setInterval(() => response.write('0'.repeat(65_536)), 1);
      response.on('close', () => clearInterval(timer));
    },
    'a connection reset': (request) => request.socket.destroy(),
    nonsense: (_, response) => response.end('{"ok":true}'),
  };
  for (const [what, handler] of Object.entries(useless)) {
    handle = handler;
    const start = performance.now();
    t.equal((await create(breached)).statusCode, 200, what);
    t.ok(performance.now() - start < 5_000, what);
  }
  handle = serve;
  t.equal((await create(breached)).statusCode, 400, 'rejected again after the mirror has recovered');
});
