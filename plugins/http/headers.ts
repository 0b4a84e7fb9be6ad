import type { IncomingMessage, ServerResponse } from 'node:http';
import helmet, { type HelmetOptions } from 'helmet';
import { definePlugin } from '../platform/plugin.js';

/** The headers that a route can override. */
export interface HeaderOverrides {
  xFrameOptions?: { action: 'sameorigin' };
  crossOriginOpenerPolicy?: false;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    headers?: HeaderOverrides;
  }
}

/** Headers for responses for which no hooks run. These are JSON, and must be neither rendered nor cached. */
export const bareHeaders = {
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

/**
 * Sets the headers of every response: the ID of the request, the security headers for browsers, and, except for routes with access
 * `open`, `cache-control: no-store`, because responses contain tokens and personal data. Pages replace the Content-Security-Policy
 * with their own.
 */
export const headersPlugin = definePlugin('http/headers', ({ config: { PUBLIC_URL } }, app) => {
  const isHttps = PUBLIC_URL.startsWith('https:');
  const common = {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] },
    },
    // Only for this host, because the service does not know whether subdomains support HTTPS.
    strictTransportSecurity: isHttps && { maxAge: 365 * 24 * 60 * 60, includeSubDomains: false },
    xFrameOptions: { action: 'deny' },
    // Useful only for subdomains that share a document.domain. Browsers also warn about it if they first opened the origin without it.
    originAgentCluster: false,
    referrerPolicy: { policy: 'no-referrer' },
    crossOriginResourcePolicy: { policy: 'same-origin' },
    crossOriginOpenerPolicy: { policy: 'same-origin' },
  } satisfies HelmetOptions;
  const defaultHeaders = headersOf(common);
  const headersByOverride = new Map<HeaderOverrides, Record<string, string>>();
  app.addHook('onRoute', ({ config }) => {
    if (config?.headers) headersByOverride.set(config.headers, headersOf({ ...common, ...config.headers }));
  });
  app.addHook('onRequest', async (request, reply) => {
    const { headers } = request.routeOptions.config;
    reply.headers((headers && headersByOverride.get(headers)) ?? defaultHeaders);
    reply.header('x-request-id', request.id);
    if (request.routeOptions.config.access !== 'open') reply.header('cache-control', 'no-store');
  });
});

/** The headers that helmet sets. They never change, so helmet runs only once, with a fake response that records them. */
function headersOf(options: HelmetOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  const response = {
    setHeader: (name: string, value: string) => {
      headers[name.toLowerCase()] = value;
    },
    removeHeader: () => {},
  } as unknown as ServerResponse;
  helmet(options)({} as IncomingMessage, response, () => {});
  return headers;
}
