import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Test } from 'tap';
import { atEndOf } from '../runner/teardown.js';
import { listen } from './ports.js';

/** Responds to a request, or does not. */
export type Answer = (response: ServerResponse) => unknown;

export interface Asked {
  method: string;
  url: URL;
  headers: IncomingMessage['headers'];
  /** The fields of the submitted form, if any. */
  form: URLSearchParams;
}

/** Starts a web server on a free port of this machine and returns its origin. It is closed when the test ends. */
export async function startWebServer(t: Test, answer: (asked: Asked) => Answer | Promise<Answer>): Promise<string> {
  // Prevents clients from reusing a connection that the server has just closed, which happens on a busy machine.
  const server = createServer({ keepAliveTimeout: 0 }, async (request, response) => {
    response.on('error', () => {});
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const asked = {
      method: request.method ?? '',
      url: new URL(request.url ?? '', origin),
      headers: request.headers,
      form: new URLSearchParams(body),
    };
    try {
      await (await answer(asked))(response);
    } catch (error) {
      if (!response.headersSent) status(500, String(error))(response);
    }
  });
  const origin = `http://127.0.0.1:${await listen(server)}`;
  atEndOf(t, () => {
    server.close();
    server.closeAllConnections();
  });
  return origin;
}

export const json =
  (value: unknown, code = 200): Answer =>
  (response) =>
    response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(value));

/** JSON that no object can represent, or invalid JSON. */
export const jsonText =
  (text: string | Buffer, code = 200): Answer =>
  (response) =>
    response.writeHead(code, { 'content-type': 'application/json' }).end(text);

export const status =
  (code: number, text = ''): Answer =>
  (response) =>
    response.writeHead(code, { 'content-type': 'text/plain' }).end(text);

export const page: Answer = (response) =>
  response.writeHead(200, { 'content-type': 'text/html' }).end('<!DOCTYPE html><title>Back soon</title>');

export const redirectTo =
  (location: string): Answer =>
  (response) =>
    response.writeHead(302, { location }).end();

/** A page that submits a form as soon as it is shown (OAuth 2.0 Form Post Response Mode). */
export const formTo =
  (target: string, fields: URLSearchParams): Answer =>
  (response) => {
    const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
    const inputs = [...fields].map(([name, value]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`);
    const form = `<form method="post" action="${escaped(target)}">${inputs.join('')}</form>`;
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(`<!DOCTYPE html><title>One moment</title><body onload="document.forms[0].submit()">${form}`);
  };

/** Every way in which a server can fail to return a useful response. */
export const failures = {
  'an error of the server': status(500, 'Internal error'),
  'a gateway error': status(502),
  'too many requests': (response) => response.writeHead(429, { 'retry-after': '3600' }).end(),
  'an HTML page': page,
  'an empty body': jsonText(''),
  'truncated JSON': jsonText('{"access_token":"x", "token_ty'),
  'a number instead of an object': jsonText('17'),
  'a list instead of an object': jsonText('[{"access_token":"x"}]'),
  'null instead of an object': jsonText('null'),
  'ten megabytes': (response) => jsonText(`{"filler":"${'x'.repeat(10_000_000)}"}`)(response),
  'ten megabytes without a Content-Length': async (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"filler":"');
    for (let sent = 0; sent < 160 && !response.destroyed; sent++) {
      response.write('x'.repeat(65_536));
      await sleep(1);
    }
    response.end('"}');
  },
  'thirty megabytes that are compressed': (response) =>
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
      .end(gzipSync(`{"filler":"${'x'.repeat(30_000_000)}"}`)),
  silence: () => {},
  'a very slow response': async (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    for (let sent = 0; sent < 100 && !response.destroyed; sent++) {
      response.write(' ');
      await sleep(100);
    }
    response.end('{}');
  },
  'a reset connection': (response) => response.socket?.resetAndDestroy(),
  'a connection that ends mid-response': (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' }).write('{"sub":');
    setTimeout(() => response.socket?.destroy(), 20);
  },
} satisfies Record<string, Answer>;
