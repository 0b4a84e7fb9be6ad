// @suite embedded-only: hardly depends on the engine

import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import {
  anyAddress,
  createHttpClient,
  type HttpClientOptions,
  type Lookup,
} from '../../plugins/platform/http-client.js';
import { isPublicAddress } from '../../plugins/platform/public-addresses.js';
import { atEndOf } from '../helpers/runner/teardown.js';

/** A server on an address of this machine. Each has its own, as all of 127.0.0.0/8 leads here. */
async function serve(t: Test, answer: RequestListener, host = '127.0.0.1', port = 0) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  atEndOf(t, async () => {
    server.close();
    server.closeAllConnections();
  });
  return { port: (server.address() as AddressInfo).port, asked };
}

const client = (options: Partial<HttpClientOptions> = {}) =>
  createHttpClient({ allows: anyAddress, timeout: 5_000, maxBytes: 1_000, ...options });

/** A resolver that returns the next of these addresses each time. */
const resolverOf = (...answers: (string | string[])[]) => {
  const asked: string[] = [];
  const lookup: Lookup = (host, _options, callback) => {
    asked.push(host);
    const addresses = [answers.shift() ?? []].flat();
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  return { lookup, asked };
};

t.test('a client sends a request and returns the whole response', async (t) => {
  const { port } = await serve(t, async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { 'x-test': header, 'content-length': length } = request.headers;
    response.writeHead(
      201,
      [
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
      ].flat(),
    );
    response.end(`${request.method} ${header} ${length} ${body}`);
  });
  const response = await client()(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: { 'X-Test': 'yes' },
    body: 'größe',
  });
  t.equal(response.status, 201);
  t.strictSame(response.headers.getSetCookie(), ['a=1', 'b=2']);
  t.equal(await response.text(), 'POST yes 7 größe');
});

t.test('a response without a body can be read', async (t) => {
  const { port } = await serve(t, (_, response) => response.writeHead(204).end());
  const response = await client()(`http://127.0.0.1:${port}/`);
  t.equal(response.status, 204);
  t.equal(await response.text(), '');
});

t.test('a client for public addresses refuses every way to write the address of this machine', async (t) => {
  const { port, asked } = await serve(t, (_, response) => response.end('secret'), '::');
  const fetchPublic = client({ allows: isPublicAddress });
  const hosts = [
    ...['127.0.0.1', '127.1', '0x7f.1', '0x7f000001', '2130706433', '0177.0.0.1', '127.0.0.1.', '0', '0.0.0.0'],
    ...['１２７.0.0.1', '127。0。0。1', '127.255.255.254', '[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]'],
    ...['[::127.0.0.1]', '[0:0:0:0:0:0:0:1]', '[64:ff9b::127.0.0.1]', '[2002:7f00:1::]', 'localhost'],
  ];
  for (const host of hosts) {
    await t.rejects(fetchPublic(`http://${host}:${port}/`), { message: /is not allowed/ }, host);
  }
  t.strictSame(asked, [], 'no request arrived');
  t.equal(await (await client()(`http://[::1]:${port}/`)).text(), 'secret', 'the server can be reached');
});

t.test('a client for public addresses refuses names that resolve to another address', async (t) => {
  const { port, asked } = await serve(t, (_, response) => response.end('secret'));
  const lists = [
    ['127.0.0.1'],
    ['93.184.215.14', '127.0.0.1'],
    ['2606:4700::1', '::1'],
    ['169.254.169.254'],
    ['fd00::1'],
  ];
  for (const addresses of lists) {
    const { lookup } = resolverOf(addresses);
    const refused = client({ allows: isPublicAddress, lookup })(`http://example.com:${port}/`);
    await t.rejects(refused, { message: /example\.com.* is not allowed/ }, addresses.join());
  }
  t.strictSame(asked, []);
});

t.test('a client resolves a name once, and connects to the address that it has checked', async (t) => {
  const checked = await serve(t, (_, response) => response.end('checked'));
  const other = await serve(t, (_, response) => response.end('other'), '127.0.0.2', checked.port);
  const { lookup, asked } = resolverOf('127.0.0.1', '127.0.0.2', '127.0.0.2');
  const fetchFrom = client({ allows: (address) => address === '127.0.0.1', lookup });
  const response = await fetchFrom(`http://rebinding.example:${checked.port}/`);
  t.equal(await response.text(), 'checked');
  t.strictSame(asked, ['rebinding.example']);
  t.strictSame(other.asked, []);
});

t.test('a name without an address is an error', async (t) => {
  await t.rejects(client({ lookup: resolverOf([]).lookup })('http://nowhere.example/'), /no address/);
  await t.rejects(client()('http://nowhere.invalid/'), { code: /ENOTFOUND|EAI_AGAIN/ });
});

t.test('a redirect is not followed', async (t) => {
  const target = await serve(t, (_, response) => response.end('secret'));
  const { port } = await serve(t, (_, response) =>
    response.writeHead(302, { location: `http://127.0.0.1:${target.port}/` }).end(),
  );
  const response = await client()(`http://127.0.0.1:${port}/`);
  t.equal(response.status, 302);
  t.equal(response.ok, false);
  t.strictSame(target.asked, []);
});

t.test('a body that is too large fails the request, or is cut off', async (t) => {
  let written = 0;
  let closed = 0;
  const { port } = await serve(t, (_, response) => {
    const timer = setInterval(() => {
      written += 10_000;
      response.write('x'.repeat(10_000));
    }, 1);
    response.on('close', () => {
      closed += 1;
      clearInterval(timer);
    });
  });
  const url = `http://127.0.0.1:${port}/endless?secret`;
  await t.rejects(client()(url), { message: `http://127.0.0.1:${port}/endless returned more than 1000 bytes.` });
  const cut = await client({ truncates: true })(url);
  t.equal(await cut.text(), 'x'.repeat(1_000));
  while (closed < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  t.ok(written < 10_000_000, 'the connections were closed');
});

t.test('a body of exactly the maximum size is accepted', async (t) => {
  const { port } = await serve(t, (_, response) => response.end('x'.repeat(1_000)));
  t.equal((await (await client()(`http://127.0.0.1:${port}/`)).text()).length, 1_000);
});

t.test('the timeout covers the resolver, the server, and the body', async (t) => {
  const patience = 2_000;
  const silent = await serve(t, (_, response) => void setTimeout(() => response.end(), patience));
  const slow = await serve(t, (_, response) => {
    const timer = setInterval(() => response.write('x'), 20);
    response.on('close', () => clearInterval(timer));
    setTimeout(() => response.end(), patience);
  });
  const slowLookup: Lookup = (_host, _options, callback) => void setTimeout(() => callback(null, []), patience);
  const upgrading = await serve(t, (_, response) =>
    response.writeHead(101, { upgrade: 'x', connection: 'upgrade' }).end(),
  );
  const timeout = 200;
  const start = performance.now();
  await t.rejects(client({ timeout })(`http://127.0.0.1:${silent.port}/`), { name: 'TimeoutError' });
  await t.rejects(client({ timeout })(`http://127.0.0.1:${slow.port}/`), { name: 'TimeoutError' });
  await t.rejects(client({ timeout, lookup: slowLookup })('http://example.com/'), { name: 'TimeoutError' });
  await t.rejects(client({ timeout })(`http://127.0.0.1:${upgrading.port}/`));
  const signal = AbortSignal.timeout(50);
  await t.rejects(client({ timeout: 60_000 })(`http://127.0.0.1:${silent.port}/`, { signal }), {
    name: 'TimeoutError',
  });
  await t.rejects(client()(`http://127.0.0.1:${silent.port}/`, { signal }), { name: 'TimeoutError' }, 'already over');
  t.ok(performance.now() - start < 5_000);
});

t.test('a client requests only http and https URLs without credentials', async (t) => {
  await t.rejects(client()('ftp://127.0.0.1/'), /ftp: is not supported/);
  await t.rejects(client()('file:///etc/passwd'), /file: is not supported/);
  await t.rejects(client()('http://user:password@127.0.0.1/'), {
    message: 'The URL for 127.0.0.1 contains credentials.',
  });
});

t.test('connections are reused, but not by clients that allow fewer addresses', async (t) => {
  const sockets = new Set<unknown>();
  const { port } = await serve(t, (request, response) => {
    sockets.add(request.socket);
    response.end();
  });
  const { lookup, asked } = resolverOf('127.0.0.1', '127.0.0.1');
  const fetchFrom = client({ lookup });
  for (const path of ['a', 'b', 'c']) await fetchFrom(`http://example.com:${port}/${path}`);
  t.equal(sockets.size, 1);
  t.equal(asked.length, 1);
  await t.rejects(client({ allows: isPublicAddress, lookup })(`http://example.com:${port}/`), /is not allowed/);
});

t.test('a public address is one on the internet', async (t) => {
  const isPublic = [
    ...['1.1.1.1', '93.184.215.14', '100.63.255.255', '100.128.0.0', '172.15.255.255', '172.32.0.0', '192.0.1.0'],
    ...['223.255.255.255', '2606:4700::1111', '2a00:1450::1', '2001:4860:4860::8888', '64:ff9b::1.1.1.1'],
  ];
  const isSpecial = [
    ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '10.255.255.255', '100.64.0.0', '100.100.100.200', '100.127.255.255'],
    ...['127.0.0.1', '168.63.129.16', '169.254.169.254', '172.16.0.0', '172.31.255.255', '192.0.0.192', '192.0.2.1'],
    ...['192.88.99.1', '192.168.1.1', '198.18.0.1', '198.19.255.255', '198.51.100.1', '203.0.113.1', '224.0.0.1'],
    ...['239.255.255.255', '240.0.0.1', '255.255.255.255', '::', '::1', '::127.0.0.1', '::ffff:127.0.0.1'],
    ...['::ffff:1.1.1.1', '64:ff9b::127.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::1.1.1.1', '100::1', '2001::1'],
    ...['2001:db8::1', '2002:7f00:1::', '3fff::1', '5f00::1', 'fc00::1', 'fd00:ec2::254', 'fe80::1', 'fe80::1%lo'],
    ...['fec0::1', 'ff02::1', 'localhost', '', '127.1', '[::1]'],
  ];
  for (const address of isPublic) t.equal(isPublicAddress(address), true, address);
  for (const address of isSpecial) t.equal(isPublicAddress(address), false, address);
});
