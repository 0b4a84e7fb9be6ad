import type { IncomingHttpHeaders } from 'node:http';
import type { Config } from '../../../schemas/config.js';
import type { Attributes, Observe } from '../../platform/traced-operations.js';

/** Follows what happens for a request, and tells a collector. */
export interface Tracing {
  /** Begins with a request; goes on with the trace that it brings along, if it does (W3C Trace Context). */
  begin(request: {
    method: string;
    /** The pattern; undefined: there is no such route. */
    route: string | undefined;
    headers: IncomingHttpHeaders;
    attributes: Attributes;
  }): RequestTrace;
  observe: Observe;
  /** Of what is under way, for the log. */
  ids(): { trace_id?: string; span_id?: string };
  /** Sends what is left, for a while. */
  stop(): Promise<void>;
}

/** What happens for one request. */
export interface RequestTrace {
  /** Whatever `work` calls, now or later, happens for this request. */
  run(work: () => void): void;
  /** Notes why it cannot be answered as it should. */
  fail(error: { type: string; message: string; stack: string }): void;
  /** @param status of the answer; undefined: there was none */
  end(status: number | undefined): void;
}

export interface StartedTracing {
  /** Null: it is off. */
  tracing: Tracing | null;
  /** What of the configuration could not be done. */
  faults: readonly string[];
}

const off: StartedTracing = { tracing: null, faults: [] };

/**
 * Begins to trace, if the standard variables ask for it. Only then anything is loaded. Nothing that is wrong with it keeps
 * the service from starting.
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
      faults: [`OTEL_EXPORTER_OTLP_PROTOCOL: ${protocol} is not known; http/protobuf and http/json are`],
    };
  }
  const { createTracing } = await import('./sdk.js');
  return createTracing({ ...options, protocol });
}

/** By an exporter or by an address to send to; unless it is switched off. */
function isWanted(config: Config): boolean {
  const { OTEL_SDK_DISABLED: disabled, OTEL_TRACES_EXPORTER: exporter } = config;
  if (disabled?.toLowerCase() === 'true') return false;
  const hasAddress = (config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? config.OTEL_EXPORTER_OTLP_ENDPOINT) !== undefined;
  return exporter === undefined ? hasAddress : exporter.split(',').some((name) => name.trim() === 'otlp');
}
