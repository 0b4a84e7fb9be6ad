import { definePlugin } from '../plugin.js';
import { type Observe, unobserved } from '../traced-operations.js';
import type { StartedTracing, Tracing } from './service.js';

declare module '../plugin.js' {
  interface Services {
    /** Null if tracing is off. */
    tracing: Tracing | null;
    observe: Observe;
  }
}

/** `app.observe`: measures anything that takes time. */
export const tracingPlugin = definePlugin<StartedTracing>('platform/tracing', (_services, app, { tracing, faults }) => {
  for (const fault of faults) app.log.warn({ reason: fault }, 'tracing is not configured as requested');
  if (tracing) app.addHook('onClose', () => tracing.stop());
  return { tracing, observe: tracing?.observe ?? unobserved };
});
