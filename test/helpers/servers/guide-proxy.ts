import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { readGuide } from '../project/guide.js';
import { atEndOf } from '../runner/teardown.js';
import { testCertificate } from './tls-front.js';

/** The files and ports of a proxy. */
export interface ProxyPlaces {
  /** The directory of its files. */
  directory: string;
  /** The port on which it listens with TLS. */
  port: number;
  /** The ports of the two instances behind it. */
  upstreams: [number, number];
  /** Disables TLS (nginx only), for tests in which TLS would take most of the time. */
  isPlain?: boolean;
  /** Uses the example for a service under a path (nginx only). */
  isUnderPath?: boolean;
}

/** The proxies in the guide, each with the configuration that its example requires to run in a test. */
const proxies = {
  nginx: {
    command: ({ directory }: ProxyPlaces) => [
      'nginx',
      '-p',
      directory,
      '-e',
      'stderr',
      '-c',
      join(directory, 'nginx.conf'),
    ],
    file: 'nginx.conf',
    around: (example: string, { directory, port, isPlain }: ProxyPlaces) => {
      const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name};`);
      const placed = example
        .replace('listen 443', `listen 127.0.0.1:${port}`)
        .replaceAll(/\/etc\/ssl\/.*\.(pem|key);/g, (_, ending) => `${directory}/front.${ending};`);
      const adapted = isPlain
        ? placed.replaceAll(/ ssl;|ssl_certificate.*;/g, (part) => (part === ' ssl;' ? ';' : ''))
        : placed;
      return `daemon off; pid nginx.pid; events {} http { access_log off; ${folders.join(' ')}\n${adapted}\n}`;
    },
  },
  caddy: {
    command: ({ directory }: ProxyPlaces) => [
      'caddy',
      'run',
      '--config',
      join(directory, 'Caddyfile'),
      '--adapter',
      'caddyfile',
    ],
    file: 'Caddyfile',
    around: (example: string, { directory, port }: ProxyPlaces) => {
      const tls = `tls ${directory}/front.pem ${directory}/front.key`;
      const adapted = example.replace('accounts.example.com {', `https://localhost:${port} {\n${tls}`);
      return `{\nadmin off\nauto_https disable_redirects\n}\n${adapted}`;
    },
  },
  // Without TLS.
  haproxy: {
    command: ({ directory }: ProxyPlaces) => ['haproxy', '-db', '-f', join(directory, 'haproxy.cfg')],
    file: 'haproxy.cfg',
    around: (example: string, { port }: ProxyPlaces) => example.replace('bind :8080', `bind 127.0.0.1:${port}`),
  },
} as const;
const languages = { nginx: 'nginx', caddy: 'caddyfile', haproxy: 'haproxy' } as const;

/**
 * Starts a proxy with the example from the deployment guide and waits until it listens. It is stopped when the test
 * ends.
 */
export async function startGuideProxy(t: Test, name: keyof typeof proxies, places: ProxyPlaces): Promise<void> {
  const { command, file, around } = proxies[name];
  const [block, forPath] = readGuide('docs/deployment.md').filter(({ language }) => language === languages[name]);
  const [one, other] = places.upstreams;
  const text = places.isUnderPath ? underPath(block?.text ?? '', forPath?.text ?? '') : (block?.text ?? '');
  const example = text.replaceAll(':8055', `:${one}`).replaceAll(':8056', `:${other}`);
  writeFileSync(join(places.directory, file), around(example, places));
  writeFileSync(join(places.directory, 'front.pem'), testCertificate.cert);
  writeFileSync(join(places.directory, 'front.key'), testCertificate.key);
  const [program = '', ...parameters] = command(places);
  const child = spawn(program, parameters, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk;
  });
  const ended = new Promise((resolve) => child.on('close', resolve));
  atEndOf(t, async () => {
    child.kill('SIGTERM');
    await ended;
  });
  for (let waited = 0; !(await isListening(places.port)); waited += 50) {
    if (child.exitCode !== null || waited > 10_000) throw new Error(`${name} did not start: ${said}`);
    await sleep(50);
  }
}

/** Replaces `location /` in the example, and the file that both examples share, as the guide says. */
function underPath(example: string, locations: string): string {
  const [all = '', headers = ''] =
    /^ *location \/ \{\n *proxy_pass [^\n]*\n((?: *proxy_set_header [^\n]*\n)+) *\}\n/m.exec(example) ?? [];
  return example.replace(all, () => locations.replaceAll(/ *include [^\n]*\n/g, headers));
}

const isListening = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
