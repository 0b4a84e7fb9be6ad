// @suite embedded-only: hardly depends on the engine

import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { closing as close, get, host, json, malformed, post } from '../helpers/hostile/malformed.js';
import { answersIn, exchange, listen } from '../helpers/http/raw-http.js';
import { type Answered, isContractError } from '../helpers/openapi/contract-error.js';
import { startTestApp } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';

/** Sends bytes, and returns the only response. */
async function answerTo(
  t: Test,
  port: number,
  ...sent: Parameters<typeof exchange> extends [number, ...infer R] ? R : never
) {
  const { text, error } = await exchange(port, ...sent);
  t.equal(error, undefined, 'the connection was closed properly');
  const answers = answersIn(text);
  t.equal(answers.length, 1, 'there is one response');
  return answers[0] ?? { statusCode: 0, headers: {}, body: '' };
}

t.test('over a real socket', async (t) => {
  const { app } = await startTestApp(t);
  const port = await listen(app);

  t.test('input that is not HTTP gets an error as documented, and the connection ends', async (t) => {
    for (const [what, bytes] of Object.entries(malformed)) {
      isContractError(t, await answerTo(t, port, bytes), 'INVALID_PAYLOAD', what);
    }
  });

  t.test('a truncated body is rejected', async (t) => {
    const cut = `POST /auth/login HTTP/1.1\r\n${host}${json}Content-Length: 200\r\n\r\n{"email"`;
    isContractError(t, await answerTo(t, port, cut, { end: true }), 'INVALID_PAYLOAD', 'fewer bytes than announced');
  });

  t.test('unusual but valid requests get normal responses', async (t) => {
    const status = async (bytes: string | string[], pause = 0) =>
      (await answerTo(t, port, bytes, { pause })).statusCode;
    t.equal(await status('GET /server/ping HTTP/1.0\r\n\r\n'), 200, 'HTTP/1.0 needs no Host');
    t.equal(await status(get('/server/ping', `${close}X: ${'é'.repeat(100)}\r\n`)), 200, 'a non-ASCII header');
    t.equal(await status(get('/server/ping', `${close}X:\r\n`)), 200, 'an empty header');
    t.equal(await status(get('/server/ping', `${close}X-Forwarded-For: rubbish\r\n`)), 200, 'an untrusted proxy');
    t.equal(await status(get('http://elsewhere.example/server/ping')), 200, 'an absolute URL');
    t.equal(await status(get('/server/ping', `${close}Expect: rubbish\r\n`)), 200, 'an unknown expectation');
    t.equal(
      await status(get('/server/ping', 'Connection: close, upgrade\r\nUpgrade: websocket\r\n')),
      200,
      'an upgrade that is not offered',
    );
    t.equal(await status(post('/auth/login', JSON.stringify(administrator), `${close}Expect: 100-continue\r\n`)), 200);
    const slowly = post('/auth/login', JSON.stringify(administrator)).match(/[\s\S]{1,40}/g) ?? [];
    t.equal(await status(slowly, 5), 200, 'a request in small pieces');
    const body = JSON.stringify(administrator);
    const chunked = [...body].map((character) => `1\r\n${character}\r\n`).join('');
    const head = `POST /auth/login HTTP/1.1\r\n${host}${json}${close}Transfer-Encoding: chunked\r\n\r\n`;
    t.equal(await status(`${head}${chunked}0\r\n\r\n`), 200, 'a body in chunks of one byte');
  });

  t.test('a method without a route returns ROUTE_NOT_FOUND', async (t) => {
    const path = async (bytes: string) => {
      const answer = await answerTo(t, port, bytes);
      isContractError(t, answer, 'ROUTE_NOT_FOUND', bytes.split('\r\n', 1)[0] ?? '');
      return JSON.parse(answer.body).errors[0].extensions.path;
    };
    t.equal(await path(`CONNECT elsewhere.example:443 HTTP/1.1\r\n${host}\r\n`), 'elsewhere.example:443');
    t.equal(await path(`OPTIONS * HTTP/1.1\r\n${host}${close}\r\n`), '*');
    t.equal(await path(`TRACE /users/me HTTP/1.1\r\n${host}${close}\r\n`), '/users/me');
    t.equal(await path(`PROPFIND /users/me HTTP/1.1\r\n${host}${close}\r\n`), '/users/me');
  });

  t.test('pipelined requests get their responses in the same order', async (t) => {
    const { text, error } = await exchange(
      port,
      get('/server/ping', '') + post('/auth/login', '{}', '') + get('/nope', '') + get('/%zz', '') + get('/users/me'),
    );
    t.equal(error, undefined);
    t.strictSame(
      answersIn(text).map((answer) => answer.statusCode),
      [200, 400, 404, 400, 401],
    );
  });

  t.test('garbage after a valid request ends the connection with an error', async (t) => {
    const { text, error } = await exchange(port, `${get('/server/ping', '')}rubbish\r\n\r\n`);
    t.equal(error, undefined);
    isContractError(t, answersIn(text).at(-1) as Answered, 'INVALID_PAYLOAD', 'the garbage');
  });

  t.test('nothing is read after a request that could be interpreted in two ways', async (t) => {
    const behind = get('/server/ping');
    for (const [what, bytes] of Object.entries(malformed)) {
      const { text } = await exchange(port, [bytes, behind], { pause: 5 });
      t.equal(answersIn(text).length, 1, what);
      t.notMatch(text, 'pong', what);
    }
  });

  t.test('an unusual but valid Host is accepted', async (t) => {
    for (const name of [
      '',
      'localhost:8055',
      '[::1]:8055',
      '127.0.0.1',
      'xn--bcher-kva.example',
      'a_b.example:',
      'EXAMPLE.com.',
    ]) {
      const answer = await answerTo(t, port, `GET /server/ping HTTP/1.1\r\nHost: ${name}\r\n${close}\r\n`);
      t.equal(answer.statusCode, 200, name);
    }
  });

  t.test('a request hidden in the body of another is not processed', async (t) => {
    const hidden = get('/nope');
    for (const path of ['/auth/login', '/nope']) {
      const answers = answersIn((await exchange(port, post(path, hidden, ''))).text);
      t.equal(answers.length, 1, `${path}: one response`);
      t.equal(answers[0]?.statusCode, path === '/nope' ? 404 : 400);
    }
  });

  t.test('a client that disconnects during a request causes no harm', async (t) => {
    await Promise.all(
      Array.from({ length: 50 }, (_, index) => {
        const socket = connect(port, '127.0.0.1');
        socket.on('error', () => {});
        const closed = new Promise((resolve) => socket.on('close', resolve));
        socket.write(post('/auth/login', JSON.stringify(administrator)).slice(0, 20 + index * 4), () =>
          socket.resetAndDestroy(),
        );
        return closed;
      }),
    );
    t.equal((await answerTo(t, port, get('/server/ping'))).body, 'pong');
  });

  t.test('a client that sends a body over the limit gets a response', async (t) => {
    const size = 2_000_000;
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
    for (const [what, bytes] of Object.entries({
      'with Content-Length': [
        `POST /auth/login HTTP/1.1\r\n${host}${json}Content-Length: ${size}\r\n\r\n`,
        `{"a":"${'x'.repeat(size - 8)}"}`,
      ],
      'in chunks': [
        `POST /auth/login HTTP/1.1\r\n${host}${json}Transfer-Encoding: chunked\r\n\r\n`,
        ...Array.from({ length: 32 }, () => chunk),
        '0\r\n\r\n',
      ],
    })) {
      const { text } = await exchange(port, bytes);
      const [answer] = answersIn(text);
      isContractError(t, answer as Answered, 'INVALID_PAYLOAD', `2 MB ${what}`);
    }
  });

  t.test('a client that writes its whole body over the limit first gets a response, too', async (t) => {
    const send = (headers: Record<string, string | number>, size: number) =>
      new Promise<Answered>((resolve, reject) => {
        const request = httpRequest({
          port,
          host: '127.0.0.1',
          method: 'POST',
          path: '/auth/login',
          headers: { ...headers, 'content-type': 'application/json' },
        });
        let answered = false;
        request.on('response', (response) => {
          answered = true;
          let body = '';
          response.on('data', (data) => {
            body += data;
          });
          response.on('end', () => resolve({ statusCode: response.statusCode ?? 0, headers: response.headers, body }));
        });
        // The connection may be closed during the upload once the response has arrived.
        request.on('error', (error) => answered || reject(error));
        request.end(Buffer.alloc(size, 'x'));
      });
    for (let round = 0; round < 3; round++) {
      for (const size of [1_048_577, 2_000_000, 20_000_000]) {
        isContractError(t, await send({ 'content-length': size }, size), 'INVALID_PAYLOAD', `${size} bytes`);
        isContractError(t, await send({}, size), 'INVALID_PAYLOAD', `${size} bytes in chunks`);
      }
      const response = await fetch(`http://127.0.0.1:${port}/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: 'x'.repeat(2_000_000),
      });
      t.equal(response.status, 400, 'fetch');
    }
  });
});

t.test('invalid requests cause no warnings or errors in the log', async (t) => {
  const lines: { level: number; msg: string; reqId?: string; status?: number }[] = [];
  const stream = { write: (line: string) => lines.push(JSON.parse(line)) };
  const { app } = await startTestApp(t, {}, { logger: { level: 'info', stream } });
  const port = await listen(app);
  const sent = [
    'rubbish\r\n\r\n',
    get('/%zz'),
    get('/nope'),
    `GET / HTTP/1.1\r\n${close}\r\n`,
    `CONNECT a:443 HTTP/1.1\r\n${host}\r\n`,
    post('/auth/login', '{'),
  ];
  for (const bytes of sent) {
    const { headers, statusCode } = await answerTo(t, port, bytes);
    const line = lines.find(({ reqId }) => reqId === headers['x-request-id']);
    t.equal(line?.status, statusCode, `${JSON.stringify(bytes.slice(0, 20))} is logged with its id`);
  }
  const cut = `POST /auth/login HTTP/1.1\r\n${host}${json}Content-Length: 200\r\n\r\n{"email"`;
  await exchange(port, cut, { end: true });
  const socket = connect(port, '127.0.0.1');
  socket.write(cut);
  await new Promise((resolve) => setTimeout(resolve, 100));
  socket.resetAndDestroy();
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.strictSame(
    lines.filter(({ level }) => level >= 40),
    [],
    'no warning and no error',
  );
});
