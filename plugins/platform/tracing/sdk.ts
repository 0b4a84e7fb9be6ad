import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Context,
  DiagLogLevel,
  defaultTextMapGetter,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { TracedOperation } from '../traced-operations.js';
import type { RequestTrace, Tracing } from './service.js';

/**
 * The only module that loads and uses the SDK. Of the SDK's variables, only those for the destination, sampling, batches, limits, and
 * the resource have an effect. The SDK is not registered globally.
 */

/** Milliseconds to send the remaining spans at shutdown, with the collector available (`up`) or unavailable (`down`). */
const exportTimeoutMs = { up: 1_500, down: 250 };

const kinds = { client: SpanKind.CLIENT, internal: SpanKind.INTERNAL };
/** Any other method is reported as `_OTHER` (OpenTelemetry semantic conventions for HTTP). */
const knownMethods = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'CONNECT',
  'TRACE',
  'SEARCH',
]);

export interface SdkOptions {
  version: string;
  protocol: 'http/protobuf' | 'http/json';
  /** Called once per outage, when the collector does not accept spans. */
  onOutage(reason: string): void;
}

/** @returns the tracing, and the faults in the variables. A fault does not disable tracing; the SDK ignores the variable */
export function createTracing({ version, protocol, onOutage }: SdkOptions): { tracing: Tracing; faults: string[] } {
  const faults: string[] = [];
  const addFault = (message: string) => void faults.push(message);
  diag.setLogger({ error: addFault, warn: addFault, info() {}, debug() {}, verbose() {} }, DiagLogLevel.WARN);
  const exporter = createExporter(protocol, onOutage);
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'gatehouse', 'service.version': version }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(exporter.spans)],
  });
  // From here on, the SDK would log every failed attempt to send spans.
  diag.disable();

  const tracer = provider.getTracer('gatehouse', version);
  const propagator = new W3CTraceContextPropagator();
  const storage = new AsyncLocalStorage<Context>();

  const begin: Tracing['begin'] = ({ method, route, headers, attributes }) => {
    const parent = propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
    const known = knownMethods.has(method) ? method : 'HTTP';
    const span = tracer.startSpan(
      route === undefined ? known : `${known} ${route}`,
      {
        kind: SpanKind.SERVER,
        attributes: spread({
          ...attributes,
          'http.request.method': known === 'HTTP' ? '_OTHER' : known,
          ...(route === undefined ? {} : { 'http.route': route }),
        }),
      },
      parent,
    );
    return traceOf(span, trace.setSpan(parent, span));
  };

  const traceOf = (span: Span, context: Context): RequestTrace => ({
    run: (work) => storage.run(context, work),
    fail: ({ type, message, stack }) => {
      span.recordException({ name: type, message, stack });
      span.setAttribute('error.type', type);
    },
    end: (status) => {
      if (status === undefined) span.setAttribute('error.type', 'aborted');
      else span.setAttribute('http.response.status_code', status);
      if (status === undefined || status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  });

  const observe: Tracing['observe'] = async (operation, work) => {
    const parent = storage.getStore();
    if (!parent && !operation.isRoot) return work(() => {});
    const span = startOf(operation, parent ?? ROOT_CONTEXT);
    try {
      const note = (attributes: TracedOperation['attributes']) => void span.setAttributes(spread(attributes));
      return await storage.run(trace.setSpan(parent ?? ROOT_CONTEXT, span), () => work(note));
    } catch (error) {
      // Neither the message nor the stack, because they may contain values from the request.
      span.setAttribute('error.type', typeOf(error)).setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  };

  const startOf = ({ name, kind, attributes }: TracedOperation, parent: Context) =>
    tracer.startSpan(name, { kind: kinds[kind], attributes: spread(attributes) }, parent);

  const tracing: Tracing = {
    begin,
    observe,
    ids: () => {
      const context = storage.getStore();
      const found = context && trace.getSpanContext(context);
      return found ? { trace_id: found.traceId, span_id: found.spanId } : {};
    },
    stop: async () => {
      const sent = provider.shutdown().catch(() => {});
      await Promise.race([
        sent,
        sleep(exporter.isDown() ? exportTimeoutMs.down : exportTimeoutMs.up, undefined, { ref: false }),
      ]);
    },
  };
  return { tracing, faults };
}

/** An exporter to the configured destination. It always reports success to the SDK, because the SDK would log every failed attempt. */
function createExporter(protocol: SdkOptions['protocol'], onOutage: SdkOptions['onOutage']) {
  const otlp: SpanExporter = protocol === 'http/json' ? new JsonExporter() : new ProtobufExporter();
  let isDown = false;
  const spans: SpanExporter = {
    export: (batch, done) =>
      otlp.export(batch, ({ code, error }) => {
        const wasDown = isDown;
        isDown = code !== ExportResultCode.SUCCESS;
        if (isDown && !wasDown) onOutage(error?.message ?? 'the traces were rejected');
        done({ code: ExportResultCode.SUCCESS });
      }),
    shutdown: () => otlp.shutdown(),
    forceFlush: async () => otlp.forceFlush?.(),
  };
  return { spans, isDown: () => isDown };
}

/** The error code from the database or the system, or else the name of the error. */
function typeOf(error: unknown): string {
  const { cause, code, name } = (error ?? {}) as { cause?: unknown; code?: unknown; name?: unknown };
  if (typeof code === 'string') return code;
  return cause instanceof Error ? typeOf(cause) : String(name ?? typeof error);
}

/** Copies lists, because the SDK requires mutable arrays. */
const spread = (attributes: TracedOperation['attributes']) =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, typeof value === 'object' ? [...value] : value]),
  );
