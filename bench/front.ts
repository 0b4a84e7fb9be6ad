import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readGuide } from '../test/helpers/project/guide.js';
import { freePort } from '../test/helpers/servers/ports.js';
import { type Server, startProgram } from './processes.js';

/** A program that runs in front of several instances, or next to them. */
export interface Front {
  /** The URL at which the given number of instances can be reached together. */
  urlOf: ReadonlyMap<number, string>;
  /** The process id. */
  pid: number | undefined;
  stop(): Promise<void>;
}

/** Starts nginx with the configuration of the deployment guide except for TLS, with a port for each number of instances. */
export async function startNginx(instances: readonly Server[], counts: readonly number[]): Promise<Front> {
  const example = readGuide('docs/deployment.md').find(({ language }) => language === 'nginx')?.text ?? '';
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
  chmodSync(directory, 0o755);
  const ports = new Map<number, number>();
  for (const count of counts) ports.set(count, await freePort());
  const servers = [...ports].map(([count, port]) => {
    const upstreams = instances.slice(0, count).map(({ url }) => `server ${new URL(url).host} max_fails=0;`);
    return example
      .replaceAll('gatehouse', `gatehouse_${count}`)
      .replaceAll(/^ *(ssl_|server_name).*\n/gm, '')
      .replace(/^( *server [\d.]+:\d+ .*\n)+/m, `${upstreams.join('\n')}\n`)
      .replace('listen 443 ssl', `listen 127.0.0.1:${port}`);
  });
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name};`);
  // By default, nginx closes a connection after a thousand requests, which the load generator sometimes counts as an error.
  const http = 'access_log off; keepalive_requests 100000000;';
  const whole = `daemon off; pid nginx.pid; worker_processes 1; events {} http { ${http} ${folders.join(' ')}\n${servers.join('\n')}\n}\n`;
  writeFileSync(join(directory, 'nginx.conf'), whole);
  const parameters = ['-p', directory, '-e', 'stderr', '-c', join(directory, 'nginx.conf')];
  const [firstPort = 0] = ports.values();
  const { pid, stop } = await startProgram('nginx', parameters, firstPort);
  return {
    urlOf: new Map([...ports].map(([count, port]) => [count, `http://127.0.0.1:${port}`])),
    pid,
    stop: async () => {
      await stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export async function startRedis() {
  const port = await freePort();
  const parameters = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', tmpdir()];
  const { pid, stop } = await startProgram('redis-server', parameters, port);
  return { url: `redis://127.0.0.1:${port}`, pid, stop };
}
