import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import plugin from 'fastify-plugin';

/** The files in `dist/pages/reference` that the page loads, with their media types (`scripts/build.mjs`). */
const files = {
  'scalar.js': 'text/javascript; charset=utf-8',
  'start.js': 'text/javascript; charset=utf-8',
  'style.css': 'text/css; charset=utf-8',
};

const folder = new URL('../../pages/reference/', import.meta.url);

/**
 * The page loads resources only from the service. Scalar adds style sheets with the nonce, and sets styles on elements. The policy has
 * no `upgrade-insecure-requests`, because with it, the page would be blank if the service were used over plain HTTP.
 */
const contentSecurityPolicy = (nonce: string) =>
  [
    "default-src 'self'",
    "base-uri 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "img-src 'self' data:",
    "object-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "style-src-attr 'unsafe-inline'",
  ].join(';');

/** The page at `/docs` to read the API reference and try out the API. */
export const referencePlugin = plugin<{ version: string }>(
  async (app, { version }) => {
    const { basePath: base } = app;
    const urlOf = (file: keyof typeof files) => `${base}/docs/${file}?v=${version}`;
    const page = (nonce: string) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta property="csp-nonce" content="${nonce}">
    <title>Gatehouse API</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${urlOf('style.css')}">
    <script src="${urlOf('start.js')}" type="module"></script>
    <script src="${urlOf('scalar.js')}" defer></script>
  </head>
  <body>
    <div id="app" data-document="${base}/openapi.json"></div>
  </body>
</html>
`;
    const schema = { hide: true };
    app.get('/docs', { schema }, async (_request, reply) => {
      const nonce = randomBytes(16).toString('base64');
      return reply
        .type('text/html; charset=utf-8')
        .headers({ 'content-security-policy': contentSecurityPolicy(nonce), 'cache-control': 'no-store' })
        .send(page(nonce));
    });
    for (const [file, type] of Object.entries(files)) {
      app.get(`/docs/${file}`, { schema }, async (_request, reply) =>
        reply
          .type(type)
          .header('cache-control', 'public, max-age=3600')
          .send(createReadStream(new URL(file, folder))),
      );
    }
  },
  { name: 'reference', dependencies: ['config', 'route-rules'] },
);
