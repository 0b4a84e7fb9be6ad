export const host = 'Host: gatehouse.example\r\n';
export const closing = 'Connection: close\r\n';
export const json = 'Content-Type: application/json\r\n';

export const get = (path: string, headers = closing) => `GET ${path} HTTP/1.1\r\n${host}${headers}\r\n`;
export const post = (path: string, body: string, headers = closing) =>
  `POST ${path} HTTP/1.1\r\n${host}${json}Content-Length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`;

/** What is not HTTP, or not in order: each is answered with an error, and ends the connection. */
export const malformed: Readonly<Record<string, string | Buffer>> = {
  garbage: 'this is no HTTP\r\n\r\n',
  'bytes of TLS': Buffer.from('160301020001000100', 'hex'),
  'NUL bytes': Buffer.alloc(64),
  'HTTP/2 without being asked': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a method that does not exist': `FOO /server/ping HTTP/1.1\r\n${host}\r\n`,
  'a method in lower case': `get /server/ping HTTP/1.1\r\n${host}\r\n`,
  'a version that does not exist': `GET /server/ping HTTP/9.9\r\n${host}\r\n`,
  'a blank in the path': `GET /a b HTTP/1.1\r\n${host}\r\n`,
  'a control character in the path': `GET /\x01 HTTP/1.1\r\n${host}\r\n`,
  'bytes beyond ASCII in the path': Buffer.from(`GET /\xff\xfe HTTP/1.1\r\n${host}\r\n`, 'latin1'),
  'no path': `GET  HTTP/1.1\r\n${host}\r\n`,
  'NUL in a header': `GET /server/ping HTTP/1.1\r\n${host}X: a\x00b\r\n\r\n`,
  'a control character in a header': `GET /server/ping HTTP/1.1\r\n${host}X: a\x01b\r\n\r\n`,
  'a header without a colon': `GET /server/ping HTTP/1.1\r\n${host}nonsense\r\n\r\n`,
  'a header without a name': `GET /server/ping HTTP/1.1\r\n${host}: x\r\n\r\n`,
  'a blank before the colon': `GET /server/ping HTTP/1.1\r\n${host}X : y\r\n\r\n`,
  'no Host': `GET /server/ping HTTP/1.1\r\n${closing}\r\n`,
  'a header that is too large': `GET /server/ping HTTP/1.1\r\n${host}X: ${'a'.repeat(20_000)}\r\n\r\n`,
  'headers that are too many': `GET /server/ping HTTP/1.1\r\n${host}${'abcdef: ghijkl\r\n'.repeat(1_900)}\r\n`,
  'a path that is too long': get(`/${'a'.repeat(20_000)}`),
  'a query that is too long': get(`/server/ping?${'a=b&'.repeat(10_000)}`),
  'a cookie that is too long': get('/server/ping', `Cookie: a=${'b'.repeat(20_000)}\r\n`),
  'a length and chunks at once': `POST /auth/login HTTP/1.1\r\n${host}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  'two lengths': `POST /auth/login HTTP/1.1\r\n${host}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
  'a negative length': `POST /auth/login HTTP/1.1\r\n${host}Content-Length: -2\r\n\r\n{}`,
  'a length that is no number': `POST /auth/login HTTP/1.1\r\n${host}Content-Length: 2x\r\n\r\n{}`,
  'a length past all numbers': `POST /auth/login HTTP/1.1\r\n${host}Content-Length: ${'9'.repeat(30)}\r\n\r\n{}`,
  'an encoding that does not end': `POST /auth/login HTTP/1.1\r\n${host}Transfer-Encoding: gzip\r\n\r\n{}`,
  'a chunk that is no chunk': `POST /auth/login HTTP/1.1\r\n${host}${json}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}`,
  'a chunk longer than it says': `POST /auth/login HTTP/1.1\r\n${host}${json}Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n`,
};
