// @suite embedded-only: hardly depends on the engine

import t, { type Test } from 'tap';
import { isContractError } from '../helpers/openapi/contract-error.js';
import { startTestApp, type TestApp } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';

const json = { 'content-type': 'application/json' };

/** Sends a body unchanged, and expects INVALID_PAYLOAD. */
async function refuses(t: Test, { request }: TestApp, what: string, payload: string | Buffer, url = '/auth/login') {
  isContractError(
    t,
    await request({ method: 'POST', url, headers: json, payload }),
    'INVALID_PAYLOAD',
    `${url}: ${what}`,
  );
}

const routes = ['/auth/login', '/auth/refresh', '/auth/logout'];

/** Values of every type except text. */
const notText: [string, unknown][] = [
  ['null', null],
  ['a number', 1],
  ['zero', 0],
  ['a boolean', true],
  ['an array', []],
  ['an array of text', ['json']],
  ['an object', {}],
  ['an object with a method name', { toString: 'x', valueOf: 'x' }],
  ['an object such as a query builder accepts', { $ne: null }],
];

t.test('rules for bodies', async (t) => {
  const testApp = await startTestApp(t);
  const { post, request } = testApp;

  t.test('the type of every field of every route is validated', async (t) => {
    const fields: [url: string, field: string, good: object][] = [
      ['/auth/login', 'email', administrator],
      ['/auth/login', 'password', administrator],
      ['/auth/login', 'mode', administrator],
      ['/auth/login', 'otp', administrator],
      ['/auth/refresh', 'refresh_token', {}],
      ['/auth/refresh', 'mode', { refresh_token: 'x' }],
      ['/auth/logout', 'refresh_token', {}],
      ['/auth/logout', 'mode', { refresh_token: 'x' }],
    ];
    for (const [url, field, good] of fields) {
      for (const [what, value] of notText) {
        const response = await post(url, { ...good, [field]: value });
        isContractError(t, response, 'INVALID_PAYLOAD', `${url} ${field} is ${what}`);
        t.match(response.json().errors[0].extensions.reason, field, 'the reason names the field');
      }
    }
  });

  t.test('a mode is exactly one of the three', async (t) => {
    for (const url of routes) {
      for (const mode of ['', 'JSON', ' json', 'json ', 'cookies', 'Session', '__proto__', 'constructor', 'json\n']) {
        isContractError(
          t,
          await post(url, { ...administrator, refresh_token: 'x', mode }),
          'INVALID_PAYLOAD',
          `${url} ${JSON.stringify(mode)}`,
        );
      }
    }
  });

  t.test('login requires an email address, a password, and a one-time password that is not empty', async (t) => {
    for (const [what, body] of [
      ['nothing', {}],
      ['no password', { email: administrator.email }],
      ['no email', { password: administrator.password }],
      ['an empty email', { ...administrator, email: '' }],
      ['an empty password', { ...administrator, password: '' }],
      ['an empty one-time password', { ...administrator, otp: '' }],
      ['fields in another letter case', { Email: administrator.email, Password: administrator.password }],
    ] as const) {
      isContractError(t, await post('/auth/login', body), 'INVALID_PAYLOAD', what);
    }
    for (const email of [
      'x',
      '@',
      'a@',
      '@b.example',
      'a b@example.com',
      'a@b@example.com',
      ' admin@example.com',
      'admin@example.com ',
      'admin@example.com\n',
      'admin@example.com\r\nBcc: other@example.com',
      'admin@example.com,other@example.com',
      '<admin@example.com>',
      'Admin <admin@example.com>',
      '"a"@example.com',
      'a@-example.com',
      'a@example..com',
      'ädmin@example.com',
      `${'a'.repeat(128)}@example.com`,
    ]) {
      isContractError(
        t,
        await post('/auth/login', { ...administrator, email }),
        'INVALID_PAYLOAD',
        JSON.stringify(email),
      );
    }
  });

  t.test('a body that is not JSON, or not an object, is rejected', async (t) => {
    const bodies: [string, string | Buffer][] = [
      ['broken', '{"email":'],
      ['truncated in a text', '{"email":"a'],
      ['two documents', '{}{}'],
      ['a trailing comma', '{"email":"a",}'],
      ['single quotes', "{'email':'a'}"],
      ['a comment', '{}//'],
      ['words', 'email=a'],
      ['blanks', '   '],
      ['NaN', '{"email":NaN}'],
      ['undefined', 'undefined'],
      ['null', 'null'],
      ['true', 'true'],
      ['a number', '42'],
      ['a text', '"text"'],
      ['an empty array', '[]'],
      ['an array of one object', '[{}]'],
      ['an array of a scalar', '[1]'],
      ['a raw control character in a text', '{"email":"a\u0001b"}'],
      ['a raw line break in a text', '{"email":"a\nb"}'],
      ['invalid UTF-8 in a value', Buffer.from('{"email":"\xff\xfe"}', 'latin1')],
      ['invalid UTF-8 in a key', Buffer.from('{"\xc3\x28":1}', 'latin1')],
      ['an overlong encoding', Buffer.from('{"email":"\xc0\xaf"}', 'latin1')],
      ['a surrogate in UTF-8', Buffer.from('{"email":"\xed\xa0\x80"}', 'latin1')],
      ['a truncated character at the end', Buffer.from('{"email":"a"}\xe2\x82', 'latin1')],
      ['UTF-16', Buffer.from('\ufeff{"email":"a"}', 'utf16le')],
      ['random bytes', Buffer.from('\x00\x01\x02\x80\x90', 'latin1')],
      ['gzip', Buffer.from('1f8b0800000000000003ab562a4a2c5752d0514a4bcc294e05001fd2c5bf12000000', 'hex')],
    ];
    for (const url of routes) {
      for (const [what, body] of bodies) await refuses(t, testApp, what, body, url);
    }
    // Apart from these bytes, the login is correct, so they must be the reason.
    for (const bytes of ['\xff', '\xc3\x28', '\xc0\xaf', '\xed\xa0\x80']) {
      const { email, password } = administrator;
      const login = (end: string) => Buffer.from(`{"email":"${email}","password":"${password}${end}}`, 'latin1');
      await refuses(t, testApp, 'invalid UTF-8 in the password', login(`${bytes}"`));
      await refuses(t, testApp, 'invalid UTF-8 in an ignored field', login(`","x":"${bytes}"`));
    }
  });

  t.test('a body that is nested too deeply is rejected', async (t) => {
    for (const depth of [1_000, 100_000]) {
      await refuses(t, testApp, `arrays, ${depth} deep`, '['.repeat(depth) + ']'.repeat(depth));
      await refuses(t, testApp, `objects, ${depth} deep`, '{"a":'.repeat(depth) + 0 + '}'.repeat(depth));
      const field = `{"email":${'['.repeat(depth)}${']'.repeat(depth)},"password":"x"}`;
      await refuses(t, testApp, `a field ${depth} deep`, field);
      const ignored = `{"email":"a@example.com","password":"x","more":${'['.repeat(depth)}${']'.repeat(depth)}}`;
      await refuses(t, testApp, `an ignored field ${depth} deep`, ignored);
      await refuses(t, testApp, `${depth} brackets that never close`, '['.repeat(depth));
    }
  });

  t.test('keys that refer to a prototype are rejected', async (t) => {
    const { email, password } = administrator;
    const good = `"email":"${email}","password":"${password}"`;
    for (const key of [
      '"__proto__":{"admin":true}',
      '"__proto__":null',
      '"\\u005f_proto__":{"admin":true}',
      '"x":{"__proto__":{"admin":true}}',
      '"x":[[{"__proto__":1}]]',
      '"constructor":{"prototype":{"admin":true}}',
    ]) {
      await refuses(t, testApp, key, `{${good},${key}}`);
    }
    await refuses(t, testApp, 'only a prototype', `{"__proto__":{${good}}}`);
    t.equal(({} as { admin?: unknown }).admin, undefined, 'no object has a new property');
    for (const key of ['constructor', 'toString', 'hasOwnProperty', 'length', 'then']) {
      const response = await post('/auth/login', { ...administrator, [key]: 'x' });
      t.equal(response.statusCode, 200, `an unknown key ${key} is ignored like any other`);
    }
  });

  t.test('NUL and lone surrogates are rejected everywhere', async (t) => {
    const texts = ['\\u0000', 'a\\u0000b', '\\ud800', 'a\\udfffb', '\\udc00\\ud800', '\\ud83d\\u0000\\ude00'];
    for (const text of texts) {
      await refuses(t, testApp, `${text} as the email`, `{"email":"${text}","password":"x"}`);
      await refuses(t, testApp, `${text} in the password`, `{"email":"a@example.com","password":"${text}"}`);
      await refuses(t, testApp, `${text} as otp`, `{"email":"a@example.com","password":"x","otp":"${text}"}`);
      await refuses(t, testApp, `${text} in a key`, `{"email":"a@example.com","password":"x","${text}":1}`);
      await refuses(
        t,
        testApp,
        `${text} in an ignored field, deeply nested`,
        `{"email":"a@example.com","password":"x","a":[{"b":[["${text}"]]}]}`,
      );
      await refuses(
        t,
        testApp,
        `${text} in a key, deeply nested`,
        `{"email":"a@example.com","password":"x","a":[{"${text}":0}]}`,
      );
      for (const url of ['/auth/refresh', '/auth/logout']) {
        await refuses(t, testApp, `${text} as refresh_token`, `{"refresh_token":"${text}"}`, url);
      }
    }
  });

  t.test('unusual but valid text is just a wrong password', async (t) => {
    const { email } = administrator;
    for (const password of [
      '\u0001\u0002\u001f\u007f',
      '\u202e\u200b\ufeff',
      '😀',
      '\ue000\uffff',
      'ﷺ'.repeat(1000),
      'x'.repeat(500_000),
      "' or 1=1 --",
      '$argon2id$v=19$m=8192,t=1,p=1$AAAAAAAAAAA$AAAAAAAAAAA',
      '{{7*7}}',
      '%00',
      '\\u0000',
    ]) {
      isContractError(
        t,
        await post('/auth/login', { email, password }),
        'INVALID_CREDENTIALS',
        JSON.stringify(password).slice(0, 60),
      );
    }
    for (const token of ['x'.repeat(64), 'x'.repeat(500_000), '-'.repeat(64), 'a.b.c', '..', '😀', '\u0001']) {
      const what = JSON.stringify(token).slice(0, 60);
      isContractError(t, await post('/auth/refresh', { refresh_token: token }), 'INVALID_CREDENTIALS', what);
      t.equal((await post('/auth/logout', { refresh_token: token })).statusCode, 204, `logout: ${what}`);
    }
  });

  t.test('if a key is duplicated, the last value applies, as everywhere in JavaScript', async (t) => {
    const payload = `{"password":"x","email":"${administrator.email}","password":"${administrator.password}"}`;
    t.equal((await request({ method: 'POST', url: '/auth/login', headers: json, payload })).statusCode, 200);
  });

  t.test('a byte order mark is skipped', async (t) => {
    const payload = `\ufeff${JSON.stringify(administrator)}`;
    t.equal((await request({ method: 'POST', url: '/auth/login', headers: json, payload })).statusCode, 200);
  });

  t.test('a body can have very many keys', async (t) => {
    const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`key${index}`, index]));
    t.equal((await post('/auth/login', { ...many, ...administrator })).statusCode, 200);
  });
});

t.test('content types of bodies', async (t) => {
  const { request } = await startTestApp(t);
  const good = JSON.stringify(administrator);
  const login = (contentType: string | undefined, payload: string | Buffer = good) =>
    request({
      method: 'POST',
      url: '/auth/login',
      headers: contentType === undefined ? {} : { 'content-type': contentType },
      payload: Buffer.from(payload),
    });

  t.test(
    'JSON is parsed and validated with every spelling of its media type (CVE-2026-25223, CVE-2026-33806)',
    async (t) => {
      for (const type of [
        'application/json',
        'application/json; charset=utf-8',
        'application/json;charset=UTF-8',
        'application/json ; charset="utf-8"',
        'APPLICATION/JSON',
        'Application/Json; Charset=UTF-8',
        ' application/json',
        'application/json ',
        'application/json\t',
        'application/json\t;charset=utf-8',
        '\tapplication/json\t ',
      ]) {
        t.equal((await login(type)).statusCode, 200, JSON.stringify(type));
        isContractError(
          t,
          await login(type, '{"email":{"a":1},"password":["x"]}'),
          'INVALID_PAYLOAD',
          `${JSON.stringify(type)}, wrong types`,
        );
      }
    },
  );

  const others: [string | undefined, string | Buffer][] = [
    ['application/x-www-form-urlencoded', new URLSearchParams(administrator).toString()],
    ['multipart/form-data; boundary=x', '--x\r\nContent-Disposition: form-data; name="email"\r\n\r\na\r\n--x--\r\n'],
    ['multipart/form-data', good],
    ['text/plain', good],
    ['text/json', good],
    ['text/xml', '<email>a</email>'],
    ['application/xml', '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><email>&b;</email>'],
    ['application/jsonx', good],
    ['application/json5', good],
    ['application/jsonp', good],
    ['application/x-json', good],
    ['application/vnd.api+json', good],
    ['application/octet-stream', Buffer.from([0, 255, 254])],
    ['*/*', good],
    [undefined, good],
  ];

  // The service may reject a malformed type immediately, because no client sends one on purpose.
  const malformed = [
    '',
    ' ',
    '\t',
    ';',
    '/',
    'a',
    'a/b/c',
    'application/json\ta',
    'application/json\tcharset=utf-8',
    'application/json a',
    'application/json, text/plain',
    'application/json,application/json',
    'application//json',
    'é/json',
  ];

  t.test(
    'bodies of other types are not read, so a login fails because its fields are missing (CVE-2022-39288)',
    async (t) => {
      for (const [type, body] of others) {
        isContractError(t, await login(type, body), 'INVALID_PAYLOAD', `${type}`);
      }
      for (const type of malformed) isContractError(t, await login(type), 'INVALID_PAYLOAD', JSON.stringify(type));
    },
  );

  t.test('bodies of other types are not read, but a route that requires no fields continues', async (t) => {
    for (const [type, body] of others) {
      const response = await request({
        method: 'POST',
        url: '/auth/logout',
        headers: { ...(type === undefined ? {} : { 'content-type': type }), cookie: 'gatehouse_refresh_token=x' },
        payload: Buffer.from(body),
      });
      // A request with one of our cookies, and of a type that forms can send, may come from another site.
      if (/^(text\/plain|multipart\/|application\/x-www-form)/.test(type ?? '')) {
        isContractError(t, response, 'FORBIDDEN', `${type}`);
        continue;
      }
      t.equal(response.statusCode, 204, `${type}`);
      t.equal(response.body, '');
      t.equal(response.headers['content-type'], undefined, '204 has no content type');
    }
  });

  t.test('a missing body is treated as an empty object, with or without a type', async (t) => {
    for (const headers of [{}, json]) {
      const given = { ...headers, cookie: 'gatehouse_refresh_token=x' };
      t.equal((await request({ method: 'POST', url: '/auth/logout', headers: given })).statusCode, 204);
      t.equal((await request({ method: 'POST', url: '/auth/logout', headers: given, payload: '' })).statusCode, 204);
      for (const url of routes) {
        isContractError(t, await request({ method: 'POST', url, headers }), 'INVALID_PAYLOAD', `${url}, nothing`);
      }
    }
  });

  t.test('the body of a GET request is ignored', async (t) => {
    for (const payload of ['{', '{"a":1}', 'x'.repeat(2_000_000)]) {
      const response = await request({ method: 'GET', url: '/server/ping', headers: json, payload });
      t.equal(response.statusCode, 200);
    }
  });
});

t.test('MAX_PAYLOAD_SIZE is an exact limit', async (t) => {
  const testApp = await startTestApp(t, { MAX_PAYLOAD_SIZE: '1kb' });
  const padded = (size: number) => JSON.stringify(administrator).padEnd(size, ' ');
  const login = (size: number) =>
    testApp.request({ method: 'POST', url: '/auth/login', headers: json, payload: padded(size) });
  t.equal((await login(1024)).statusCode, 200);
  isContractError(t, await login(1025), 'INVALID_PAYLOAD', 'one byte more');
  isContractError(t, await login(2_000_000), 'INVALID_PAYLOAD', '2 MB');
  for (const type of ['text/xml', 'application/octet-stream']) {
    const response = await testApp.request({
      method: 'POST',
      url: '/auth/logout',
      headers: { 'content-type': type, cookie: 'gatehouse_refresh_token=x' },
      payload: 'x'.repeat(2_000_000),
    });
    isContractError(t, response, 'INVALID_PAYLOAD', `2 MB of ${type}`);
  }
});
