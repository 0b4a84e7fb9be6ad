// @suite long-only: installs another version of Node.js
// @suite embedded-only: hardly depends on the engine

/** The authorization server scenarios of the conformance tests of the Model Context Protocol. They need Node.js 22. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { startProvider } from '../helpers/applications/applications.js';
import { cannotInstall, exampleEnvironment } from '../helpers/browser/examples.js';
import { patch } from '../helpers/http/writing.js';
import { atEndOf } from '../helpers/runner/teardown.js';
import { freePort } from '../helpers/servers/ports.js';
import { administrator } from '../helpers/users/credentials.js';

const node22 = `node-linux-${process.arch}`;

t.test('the conformance tests of MCP pass for the authorization server', { skip: cannotInstall }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-mcp-'));
  atEndOf(t, async () => rmSync(folder, { recursive: true, force: true }));
  const dependencies = { '@modelcontextprotocol/conformance': '0.2.0-alpha.12', [node22]: '^22.23.3' };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
  const installation = ['install', '--ignore-scripts', '--no-audit', '--no-fund'];
  const { status, stderr } = spawnSync('npm', installation, { cwd: folder, env: exampleEnvironment, encoding: 'utf8' });
  t.equal(status, 0, stderr);

  const provider = await startProvider(t);
  const port = String(await freePort());
  const resource = 'https://mcp.example.com/mcp';
  await provider.addResource({ identifier: resource, scopes: ['tools:call'], open_to_unregistered: true });
  await patch(provider, '/settings', { unregistered_clients: 'any' });
  // The tests authenticate no client if the metadata contains `none`.
  const client = await provider.addClient({
    type: 'public',
    first_party: false,
    redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
    resources: [resource],
  });
  const browser = await provider.browser(administrator);

  const child = spawn(
    join(folder, 'node_modules', node22, 'bin/node'),
    [
      join(folder, 'node_modules/@modelcontextprotocol/conformance/dist/index.js'),
      'authorization',
      ...['--url', provider.url, '--client-id', client.id, '--resource', resource, '--port', port],
      ...['--output-dir', join(folder, 'results')],
    ],
    { cwd: folder, env: exampleEnvironment },
  );
  let output = '';
  let isSignedIn = false;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
      const [address] = /http\S+\/oauth\/authorize\S+/.exec(output) ?? [];
      // The address is printed before the server for the response has started.
      if (isSignedIn || address === undefined || !output.includes('Callback server started')) return;
      isSignedIn = true;
      browser.authorize(address).then((back) => fetch(back), t.error);
    });
  }
  const code = await new Promise((resolve) => child.on('close', resolve));
  t.equal(code, 0, 'the tests succeed', { output });
  const results = readdirSync(join(folder, 'results'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.json'))
    .map((name) => readFileSync(join(folder, 'results', name), 'utf8'))
    .join();
  const statuses = [...results.matchAll(/"status": "(\w+)"/g)].map(([, status]) => status);
  t.ok(statuses.length >= 3 && statuses.every((status) => status === 'SUCCESS'), `${statuses}`, { results });
});
