// @suite not-everyday: installs the packages of the examples
// @suite embedded-only: hardly depends on the engine

/** The applications in `examples/openid-connect`, which the guides in `docs/guides` explain. They are installed in a new folder. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import * as oidc from 'openid-client';
import t, { type Test } from 'tap';
import { startProvider } from '../helpers/applications/applications.js';
import { newPerson, startBrowser } from '../helpers/browser/browser.js';
import { cannotInstall, exampleEnvironment, installExample } from '../helpers/browser/examples.js';
import { patch } from '../helpers/http/writing.js';
import { atEndOf } from '../helpers/runner/teardown.js';
import { freePort, listen } from '../helpers/servers/ports.js';
import { startPublicHosts } from '../helpers/servers/public-hosts.js';
import { administrator } from '../helpers/users/credentials.js';

t.test('the applications of the guides', { skip: cannotInstall }, async (t) => {
  const folder = installExample(t, 'openid-connect');
  const hosts = await startPublicHosts(t);
  const provider = await startProvider(t);
  const { url } = provider;

  /** Starts an application, or another program, and waits for what it prints. */
  const start = (t: Test, program: string[], variables: Record<string, string> = {}) => {
    const [command = '', ...parameters] = program;
    const child = spawn(command, parameters, {
      cwd: folder,
      env: { ...exampleEnvironment, GATEHOUSE_URL: url, SESSION_SECRET: 'x'.repeat(64), ...variables },
    });
    let output = '';
    let report = () => {};
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        output += chunk;
        report();
      });
    }
    const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
    atEndOf(t, () => {
      child.kill();
      return ended;
    });
    return {
      ended,
      press: () => child.stdin.write('\n'),
      /** Waits until the program prints this, after what was waited for before. */
      prints: (pattern: RegExp) =>
        new Promise<string>((resolve, reject) => {
          const fail = () => reject(new Error(`${program.join(' ')} did not print ${pattern}, but: ${output}`));
          const timer = setTimeout(fail, 20_000);
          report = () => {
            const [whole, part = ''] = pattern.exec(output) ?? [];
            if (whole === undefined) return;
            clearTimeout(timer);
            output = output.slice(output.indexOf(whole) + whole.length);
            resolve(part);
          };
          ended.then(() => (pattern.test(output) ? report() : fail()));
          report();
        }),
    };
  };
  const node = (file: string) => [process.execPath, file];
  const clientVariables = ({ id, secret }: { id: string; secret: string }) => ({
    CLIENT_ID: id,
    CLIENT_SECRET: secret,
  });
  /** The address of an application on this machine. */
  const localUrl = async () => `http://localhost:${await freePort()}`;

  for (const file of ['express.js', 'fastify.js']) {
    t.test(`${file} signs users in and out`, async (t) => {
      const APP_URL = await localUrl();
      const client = await provider.addClient({
        redirect_uris: [`${APP_URL}/callback`],
        post_logout_redirect_uris: [`${APP_URL}/`],
      });
      await start(t, node(file), { APP_URL, ...clientVariables(client) }).prints(/Listening/);
      const browser = await provider.browser(administrator);
      const shown = await browser.fetch(`${APP_URL}/`);
      t.match(await shown.json(), { sub: String, email: administrator.email, roles: ['Administrator'] });
      const out = await browser.fetch(`${APP_URL}/logout`);
      t.equal(new URL(out.url).origin, url, 'the user has to sign in again');
      t.equal((await browser.fetch(`${url}/users/me`)).status, 401);
      const forged = await browser.fetch(`${APP_URL}/callback?code=x&state=y&iss=${url}`, { redirect: 'manual' });
      t.ok(forged.status >= 300, 'a response that the app did not ask for');
    });
  }

  t.test('cli-browser.js signs its user in through a loopback redirect', async (t) => {
    const client = await provider.addClient({
      type: 'public',
      first_party: false,
      redirect_uris: ['http://127.0.0.1/callback'],
    });
    const tool = start(t, node('cli-browser.js'), { CLIENT_ID: client.id });
    const browser = await provider.browser(administrator);
    const back = await browser.authorize(await tool.prints(/^Open (\S+)$/m));
    t.match(await (await fetch(back)).text(), 'You can close this window');
    t.equal(await tool.prints(/^Signed in as (\S+)$/m), administrator.email);
  });

  t.test('cli-device.js signs its user in with a code', async (t) => {
    const client = await provider.addClient({
      type: 'public',
      first_party: false,
      redirect_uris: [],
      grant_types: ['refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
    });
    const tool = start(t, node('cli-device.js'), { CLIENT_ID: client.id });
    const code = await tool.prints(/enter the code (\S+)$/m);
    const browser = await provider.browser(administrator);
    const entered = await browser.fetch(`${url}/account/device`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ user_code: code, allow: true }),
    });
    t.equal(entered.status, 204);
    t.equal(await tool.prints(/^Signed in as (\S+)$/m), administrator.email);
  });

  t.test('service.js calls api.js, which checks the audience and the scopes', async (t) => {
    const API_URL = `${await localUrl()}/`;
    const other = `${await localUrl()}/`;
    await provider.addResource({ identifier: API_URL, scopes: ['orders:read', 'orders:write'] });
    await provider.addResource({ identifier: other, scopes: ['orders:read'] });
    await start(t, node('api.js'), { API_URL }).prints(/Listening/);
    const client = await provider.addClient({
      first_party: false,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      resources: [API_URL, other],
    });
    const called = start(t, node('service.js'), { API_URL, ...clientVariables(client) });
    t.match(JSON.parse(await called.prints(/^200 (.*)$/m)), { orders: [], user: client.id, client: client.id });
    const config = await provider.discover(client);
    const statusWith = async (token: string) =>
      (await fetch(API_URL, { headers: { authorization: `Bearer ${token}` } })).status;
    const granted = async (parameters: Record<string, string>) =>
      (await oidc.clientCredentialsGrant(config, parameters)).access_token;
    t.equal(await statusWith(await granted({ resource: API_URL })), 200);
    t.equal(await statusWith(await granted({ resource: API_URL, scope: 'orders:write' })), 403);
    t.equal(await statusWith(await granted({ resource: other })), 401);
    const web = await provider.discover(await provider.addClient({ resources: [API_URL] }));
    const user = await (await provider.browser(administrator)).signIn(web, {
      resource: API_URL,
      scope: 'openid orders:read',
    });
    t.equal(await statusWith(user.access_token), 200);
    t.equal(await statusWith(user.id_token ?? ''), 401, 'an ID token');
    t.equal((await fetch(API_URL)).status, 401);
  });

  t.test('nginx.conf lets only signed-in users reach the app behind it', async (t) => {
    const APP_URL = await localUrl();
    const client = await provider.addClient({
      redirect_uris: [`${APP_URL}/callback`],
      post_logout_redirect_uris: [`${APP_URL}/`],
    });
    const PORT = String(await freePort());
    await start(t, node('express.js'), { APP_URL, PORT, ...clientVariables(client) }).prints(/Listening/);
    const users: unknown[] = [];
    const behind = createServer((request, response) => {
      users.push(request.headers['x-user']);
      response.end('behind nginx');
    });
    const port = await listen(behind);
    atEndOf(t, () => behind.close());
    const directory = mkdtempSync(join(tmpdir(), 'gatehouse-nginx-'));
    atEndOf(t, async () => rmSync(directory, { recursive: true, force: true }));
    const example = readFileSync(join(folder, 'nginx.conf'), 'utf8')
      .replace('listen 8080', `listen ${new URL(APP_URL).port}`)
      .replaceAll(':3000', `:${PORT}`)
      .replace(':5000', `:${port}`);
    const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name};`);
    const file = join(directory, 'nginx.conf');
    writeFileSync(
      file,
      `daemon off; pid nginx.pid; events {} http { access_log off; ${folders.join(' ')}\n${example}\n}`,
    );
    start(t, ['nginx', '-p', directory, '-e', 'stderr', '-c', file]);
    const browser = await provider.browser(administrator);
    const open = (headers: Record<string, string> = {}) => browser.fetch(`${APP_URL}/page`, { headers });
    for (let tries = 0; tries < 100 && !(await open().catch(() => null)); tries++)
      await new Promise((resolve) => setTimeout(resolve, 50));
    const anonymous = await fetch(`${APP_URL}/page`, { headers: { 'x-user': 'forged' }, redirect: 'manual' });
    t.match(anonymous.headers.get('location'), /\/login$/);
    t.equal((await fetch(`${APP_URL}/check`)).status, 404, 'only nginx can ask');
    const { data: me } = (await (await browser.fetch(`${url}/users/me`)).json()) as { data: { id: string } };
    const response = await open({ 'x-user': 'forged' });
    t.equal(await response.text(), 'behind nginx');
    t.equal(users.at(-1), me.id);
  });

  t.test('auth-js.js works with Auth.js', async (t) => {
    const APP_URL = await localUrl();
    const client = await provider.addClient({ redirect_uris: [`${APP_URL}/api/auth/callback/gatehouse`] });
    const server = join(folder, 'auth-js-server.mjs');
    writeFileSync(
      server,
      `import { createServer } from 'node:http';
import { Auth } from '@auth/core';
import { providers } from './auth-js.js';
const config = { providers, secret: 'x'.repeat(64), trustHost: true, basePath: '/api/auth' };
createServer(async (incoming, outgoing) => {
  const chunks = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const body = incoming.method === 'POST' ? Buffer.concat(chunks) : undefined;
  const response = await Auth(new Request(new URL(incoming.url, process.env.APP_URL), { method: incoming.method, headers: incoming.headers, body }), config);
  outgoing.statusCode = response.status;
  for (const [name, value] of response.headers) if (name !== 'set-cookie') outgoing.setHeader(name, value);
  outgoing.setHeader('set-cookie', response.headers.getSetCookie());
  outgoing.end(Buffer.from(await response.arrayBuffer()));
}).listen(Number(new URL(process.env.APP_URL).port), () => console.log('Listening'));
`,
    );
    await start(t, node(server), { APP_URL, ...clientVariables(client) }).prints(/Listening/);
    const browser = await provider.browser(administrator);
    const { csrfToken } = (await (await browser.fetch(`${APP_URL}/api/auth/csrf`)).json()) as { csrfToken: string };
    const response = await browser.fetch(`${APP_URL}/api/auth/signin/gatehouse`, {
      method: 'POST',
      body: new URLSearchParams({ csrfToken, callbackUrl: `${APP_URL}/api/auth/session` }),
    });
    t.match(await response.json(), { user: { email: administrator.email } });
  });

  t.test('react.tsx signs users in and out', async (t) => {
    const page = createServer(async (request, response) => {
      const isScript = request.url === '/app.js';
      response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
      response.end(
        isScript ? script : '<!doctype html><div id="root"></div><script type="module" src="/app.js"></script>',
      );
    });
    const APP_URL = `http://localhost:${await listen(page)}`;
    atEndOf(t, () => {
      page.close();
      page.closeAllConnections();
    });
    const client = await provider.addClient({
      type: 'public',
      redirect_uris: [`${APP_URL}/`],
      post_logout_redirect_uris: [`${APP_URL}/`],
      allowed_origins: [APP_URL],
    });
    const { outputFiles } = await build({
      entryPoints: [join(folder, 'react.tsx')],
      bundle: true,
      format: 'esm',
      jsx: 'automatic',
      write: false,
      define: {
        'process.env.NODE_ENV': '"production"',
        'import.meta.env.VITE_GATEHOUSE_URL': JSON.stringify(url),
        'import.meta.env.VITE_CLIENT_ID': JSON.stringify(client.id),
      },
    });
    const script = outputFiles[0]?.text ?? '';
    const { page: tab } = await newPerson(await startBrowser(t), { url });
    await tab.goto(APP_URL);
    await tab.getByRole('button', { name: 'Sign in' }).click();
    await tab.getByLabel('Email address').fill(administrator.email);
    await tab.getByLabel('Password', { exact: true }).fill(administrator.password);
    await tab.getByRole('button', { name: 'Sign in', exact: true }).click();
    await tab.getByText(`Signed in as ${administrator.email}`).waitFor();
    t.equal(tab.url(), `${APP_URL}/`);
    await tab.reload();
    await tab.getByRole('button', { name: 'Sign out' }).click();
    await tab.getByRole('button', { name: 'Sign in' }).waitFor();
    t.equal(new URL(tab.url()).origin, APP_URL);
    await tab.getByRole('button', { name: 'Sign in' }).click();
    await tab.getByLabel('Email address').waitFor();
    t.equal(new URL(tab.url()).origin, url, 'the user is also signed out of Gatehouse');
  });

  t.test('mcp-server.js serves agents until the user withdraws their access', async (t) => {
    const MCP_URL = `${await localUrl()}/mcp`;
    await provider.addResource({
      identifier: MCP_URL,
      name: 'Notes',
      scopes: ['notes:read'],
      open_to_unregistered: true,
    });
    const grants = { grant_types: ['client_credentials'], redirect_uris: [], first_party: false };
    const server = await provider.addClient({ ...grants, resources: [MCP_URL] });
    await start(t, node('mcp-server.js'), { MCP_URL, ...clientVariables(server) }).prints(/Listening/);
    const challenge = await fetch(MCP_URL, { method: 'POST' });
    t.equal(challenge.status, 401);
    t.match(challenge.headers.get('www-authenticate'), /resource_metadata="[^"]+"/);

    const registered = await provider.addClient({
      name: 'An agent',
      type: 'public',
      first_party: false,
      redirect_uris: ['http://127.0.0.1/callback'],
      resources: [MCP_URL],
    });
    const host = 'agent.example.com';
    const metadataUrl = `https://${host}:${hosts.port}/client.json`;
    hosts.serve(`${host}/client.json`, (_request, response) => {
      const redirect_uris = ['http://127.0.0.1/callback'];
      const document = { client_id: metadataUrl, client_name: 'An agent that nobody registered', redirect_uris };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(document));
    });
    await patch(provider, '/settings', {
      unregistered_clients: 'listed',
      unregistered_client_hosts: [`${host}:${hosts.port}`],
    });
    const browser = await provider.browser(administrator);
    const { data: me } = (await (await browser.fetch(`${url}/users/me`)).json()) as { data: { id: string } };

    for (const [kind, variables, id] of [
      ['a registered agent', { CLIENT_ID: registered.id }, registered.id],
      ['an agent that nobody registered', { CLIENT_METADATA_URL: metadataUrl }, metadataUrl],
    ] as const) {
      t.test(kind, async (t) => {
        const agent = start(t, node('mcp-client.js'), { MCP_URL, ...variables });
        const request = new URL(await agent.prints(/^Open (\S+)$/m));
        t.equal(request.origin, url, 'found through the metadata of the server');
        t.equal(request.searchParams.get('resource'), MCP_URL);
        t.equal(request.searchParams.get('client_id'), id);
        await fetch(await browser.authorize(request));
        await agent.prints(/Press Enter/);
        agent.press();
        t.equal(await agent.prints(/^The tool returned (\S+)$/m), me.id);

        const list = await browser.fetch(`${url}/users/me/grants`);
        const { data } = (await list.json()) as { data: { id: string; client: { id: string } }[] };
        const grant = data.find(({ client }) => client.id === id);
        const withdrawn = await browser.fetch(`${url}/users/me/grants/${grant?.id}`, { method: 'DELETE' });
        t.equal(withdrawn.status, 204);
        agent.press();
        t.equal(await agent.prints(/^The tool failed: (\S+)$/m), 'UnauthorizedError');
      });
    }
  });
});
