import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { atEndOf } from '../runner/teardown.js';

/**
 * Serves https on a port of this machine, with a certificate that browsers do not know, and forwards requests to a service.
 * @param target the port of the service
 */
export async function startTlsProxy(t: Test, port: number, target: number): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-tls-'));
  const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
  const options = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=localhost'];
  execFileSync('openssl', ['req', '-x509', ...options, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const forwarded = request({ port: target, method, path, headers }, (response) => {
      response.pipe(outgoing.writeHead(response.statusCode ?? 502, response.headers));
    });
    forwarded.on('error', () => outgoing.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(port, resolve));
  atEndOf(t, () => {
    server.close();
    server.closeAllConnections();
    rmSync(directory, { recursive: true, force: true });
  });
}
