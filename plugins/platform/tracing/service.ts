import type { IncomingHttpHeaders } from 'node:http';
import type { Config } from '../../../schemas/config.js';
import type { Attributes, Observe } from '../traced-operations.js';

/** Traces requests, and sends the traces to a collector. */
export interface Tracing {
  /** Starts the trace of a request, or continues the trace in its headers, if any (W3C Trace Context). */
  begin(request: {
    method: string;
    /** The pattern of the route; undefined if there is no such route. */
    route: string | undefined;
    headers: IncomingHttpHeaders;
    attributes: Attributes;
  }): RequestTrace;
  observe: Observe;
  /** The IDs of the current trace and span, for the log. Empty outside a trace. */
  ids(): { trace_id?: string; span_id?: string };
  /** Sends the remaining spans, with a time limit. */
  stop(): Promise<void>;
}

/** The trace of one request. */
export interface RequestTrace {
  /** Runs `work` in the context of this trace, including everything that it starts asynchronously. */
  run(work: () => void): void;
  /** Records the error that made the request fail. */
  fail(error: { type: string; message: string; stack: string }): void;
  /** @param status of the response; undefined if there was none */
  end(status: number | undefined): void;
}

export interface StartedTracing {
  /** Null if tracing is off. */
  tracing: Tracing | null;
  /** The faults in the configuration. */
  faults: readonly string[];
}

const off: StartedTracing = { tracing: null, faults: [] };

/**
 * Starts tracing if the standard variables enable it, and loads the SDK only in that case. A fault in the configuration never
 * prevents the service from starting.
 */
export async function startTracing(
  config: Config,
  options: { version: string; onOutage(reason: string): void },
): Promise<StartedTracing> {
  if (!isWanted(config)) return off;
  const protocol = config.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? config.OTEL_EXPORTER_OTLP_PROTOCOL ?? 'http/protobuf';
  if (protocol !== 'http/protobuf' && protocol !== 'http/json') {
    return {
      tracing: null,
      faults: [`OTEL_EXPORTER_OTLP_PROTOCOL: ${protocol} is not supported; use http/protobuf or http/json`],
    };
  }
  const { createTracing } = await import('./sdk.js');
  return createTracing({ ...options, protocol });
}

/** Whether the variables set an exporter or an endpoint, and do not disable the SDK. */
function isWanted(config: Config): boolean {
  const { OTEL_SDK_DISABLED: disabled, OTEL_TRACES_EXPORTER: exporter } = config;
  if (disabled?.toLowerCase() === 'true') return false;
  const hasAddress = (config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? config.OTEL_EXPORTER_OTLP_ENDPOINT) !== undefined;
  return exporter === undefined ? hasAddress : exporter.split(',').some((name) => name.trim() === 'otlp');
}
