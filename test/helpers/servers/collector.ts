import { createServer, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import type { Test } from 'tap';
import { atEndOf } from '../runner/teardown.js';
import { freePort, listen } from './ports.js';

/** A span as received, in OTLP's JSON. */
export interface ReceivedSpan {
  name: string;
  /** 1 internal, 2 server, 3 client. */
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  attributes: Record<string, unknown>;
  /** 2 for an error. */
  status: number | undefined;
  events: { name: string; attributes: Record<string, unknown> }[];
  /** The resource attributes of the service that sent it. */
  resource: Record<string, unknown>;
}

/** A collector that accepts OTLP over HTTP, as JSON or as Protobuf. */
export interface Collector {
  readonly url: string;
  /** The spans received as JSON, oldest first. */
  readonly spans: ReceivedSpan[];
  /** All received bodies, unchanged. */
  readonly bodies: { path: string; type: string; headers: Record<string, unknown>; text: string }[];
  /** Whether it responds normally, with an error, or not at all. */
  behavior: 'good' | 'failing' | 'silent';
  /** Waits for a matching span and returns it. */
  find(isWanted: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan>;
  start(): Promise<void>;
  stop(): void;
}

interface AnyValue {
  stringValue?: string;
  intValue?: number | string;
  doubleValue?: number;
  boolValue?: boolean;
  arrayValue?: { values: AnyValue[] };
}

type KeyValues = { key: string; value: AnyValue }[];

interface Exported {
  resourceSpans: {
    resource: { attributes: KeyValues };
    scopeSpans: {
      spans: {
        name: string;
        kind: number;
        traceId: string;
        spanId: string;
        parentSpanId?: string;
        attributes?: KeyValues;
        status?: { code?: number };
        events?: { name: string; attributes?: KeyValues }[];
      }[];
    }[];
  }[];
}

/** Starts a collector. @param isUp whether it listens immediately */
export async function startCollector(t: Test, isUp = true): Promise<Collector> {
  const port = await freePort();
  const sockets = new Set<Socket>();
  const answer = (response: ServerResponse) => {
    if (self.behavior === 'good') response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    else if (self.behavior === 'failing') response.writeHead(503).end();
  };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const raw = Buffer.concat(chunks);
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw;
    const { url: path = '', headers } = request;
    const type = headers['content-type'] ?? '';
    self.bodies.push({ path, type, headers, text: body.toString() });
    if (self.behavior === 'good' && type.includes('json')) self.spans.push(...spansIn(JSON.parse(body.toString())));
    answer(response);
  });
  server.on('connection', (socket) => sockets.add(socket.on('close', () => sockets.delete(socket))));

  const self: Collector = {
    url: `http://127.0.0.1:${port}`,
    spans: [],
    bodies: [],
    behavior: 'good',
    find: async (isWanted) => {
      for (const end = performance.now() + 15_000; performance.now() < end; ) {
        const found = self.spans.find(isWanted);
        if (found) return found;
        await sleep(10);
      }
      throw new Error(`No matching span among ${self.spans.map(({ name }) => name).join(', ')}.`);
    },
    start: async () => {
      await listen(server, port);
    },
    stop: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  atEndOf(t, () => self.stop());
  if (isUp) await self.start();
  return self;
}

const spansIn = ({ resourceSpans }: Exported): ReceivedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ name, kind, traceId, spanId, parentSpanId, attributes, status, events = [] }) => ({
        name,
        kind,
        traceId,
        spanId,
        parentSpanId,
        attributes: valuesOf(attributes),
        status: status?.code,
        events: events.map((event) => ({ name: event.name, attributes: valuesOf(event.attributes) })),
        resource: valuesOf(resource.attributes),
      })),
    ),
  );

const valuesOf = (attributes: KeyValues = []): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, plainValue(value)]));

const plainValue = ({ stringValue, intValue, doubleValue, boolValue, arrayValue }: AnyValue): unknown =>
  arrayValue?.values.map(plainValue) ??
  stringValue ??
  (intValue === undefined ? (doubleValue ?? boolValue) : Number(intValue));
