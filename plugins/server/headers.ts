import type { IncomingMessage, ServerResponse } from 'node:http';
import plugin from 'fastify-plugin';
import helmet, { type HelmetOptions } from 'helmet';

/** What a route may want otherwise. */
export interface OwnHeaders {
  xFrameOptions?: { action: 'sameorigin' };
  crossOriginOpenerPolicy?: false;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    headers?: OwnHeaders;
  }
}

/** What answers must have that no hook is run for: they are JSON, and nothing to be shown or kept. */
export const bareHeaders = {
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

/**
 * What every answer carries: the id of its request; what browsers may do with it, which for an answer of the API is nothing;
 * and, but for the API reference, the word that nobody may keep it, as answers hold tokens and personal data. Pages set a
 * Content-Security-Policy of their own in the place of the one here.
 */
export const headersPlugin = plugin(
  async (app) => {
    const isHttps = app.config.PUBLIC_URL.startsWith('https:');
    const common = {
      contentSecurityPolicy: {
        useDefaults: false,
        directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] },
      },
      // Only for this host: what its subdomains do is not known here.
      strictTransportSecurity: isHttps && { maxAge: 365 * 24 * 60 * 60, includeSubDomains: false },
      xFrameOptions: { action: 'deny' },
      // Of no use without subdomains that share a document.domain, and browsers complain of it where pages were open before.
      originAgentCluster: false,
      referrerPolicy: { policy: 'no-referrer' },
      crossOriginResourcePolicy: { policy: 'same-origin' },
      crossOriginOpenerPolicy: { policy: 'same-origin' },
    } satisfies HelmetOptions;
    const ofAll = headersOf(common);
    const ofOne = new Map<OwnHeaders, Record<string, string>>();
    app.addHook('onRoute', ({ config }) => {
      if (config?.headers) ofOne.set(config.headers, headersOf({ ...common, ...config.headers }));
    });
    app.addHook('onRequest', async (request, reply) => {
      const { headers } = request.routeOptions.config;
      reply.headers((headers && ofOne.get(headers)) ?? ofAll);
      reply.header('x-request-id', request.id);
      if (request.routeOptions.config.access !== 'open') reply.header('cache-control', 'no-store');
    });
  },
  { name: 'headers', dependencies: ['config'] },
);

/** What helmet sets: always the same, so it is asked once, with a response that only takes notes. */
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
