import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { compressedFile, readStaticFile, type StaticFile } from '../http/static-files.js';
import { createThreadPool } from '../platform/thread-pool.js';

/** The files in `dist/pages/reference` that the page loads, with their media types (`scripts/build.mjs`). */
const files = {
  'scalar.js': 'text/javascript; charset=utf-8',
  'start.js': 'text/javascript; charset=utf-8',
  'style.css': 'text/css; charset=utf-8',
};

type FileName = keyof typeof files;

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

/** The page at `/docs` to read the API reference and try out the API, and the OpenAPI document that it shows. */
export async function referenceRoutes(app: FastifyInstance): Promise<void> {
  app.setProtocol({ isApi: false, config: { access: 'open', rateClass: 'reference' } });
  const { basePath: base } = app;
  const read = createFileReader();
  const urlOf = (file: FileName) => `${base}/docs/${file}?v=${read(file).version}`;
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
  app.get('/docs', async (_request, reply) => {
    const nonce = randomBytes(16).toString('base64');
    return reply
      .type('text/html; charset=utf-8')
      .headers({ 'content-security-policy': contentSecurityPolicy(nonce), 'cache-control': 'no-store' })
      .send(page(nonce));
  });
  for (const file of Object.keys(files) as FileName[]) {
    app.get(`/docs/${file}`, async (_request, reply) => reply.sendStaticFile(read(file)));
  }
  const documents = {
    '/openapi.json': () => compressedFile(JSON.stringify(app.swagger()), 'application/json; charset=utf-8'),
    '/openapi.yaml': async () =>
      compressedFile(await asYaml(JSON.stringify(app.swagger())), 'application/yaml; charset=utf-8'),
  };
  for (const [url, write] of Object.entries(documents)) {
    // Written on first use, because the routes are complete only after the start.
    let written: Promise<StaticFile> | undefined;
    app.get(url, async (_request, reply) => {
      written ??= write().catch((error: unknown) => {
        written = undefined;
        throw error;
      });
      return reply.sendStaticFile(await written);
    });
  }
}

/** Converts the document on a thread of its own, because that takes about a second. */
async function asYaml(json: string): Promise<string> {
  const program = new URL('./yaml-thread.js', import.meta.url);
  const thread = createThreadPool<string, string>(program, { count: 1, resourceLimits });
  try {
    return await thread.run(json);
  } finally {
    await thread.close();
  }
}

/** MB. The conversion takes about 100. */
const resourceLimits = { maxOldGenerationSizeMb: 512 };

/** Reads each file when it is first requested, because most instances never send the largest one. */
function createFileReader(): (file: FileName) => StaticFile {
  const known = new Map<FileName, StaticFile>();
  return (file) => {
    const found = known.get(file) ?? readStaticFile(new URL(file, folder), files[file]);
    known.set(file, found);
    return found;
  };
}
