import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { readGuide } from '../helpers/guide.js';
import { administrator, createHome, engine, freePort, startService } from '../helpers/service.js';
import { testCertificate } from '../helpers/tls-front.js';
import { cheapHashing } from '../helpers/variables.js';

const password = 'the password';
/** Another address of this machine than that of the proxy. */
const client = '127.0.0.2';
const credentials = JSON.stringify({ ...administrator, password });

interface Places {
  directory: string;
  port: number;
  upstreams: [number, number];
}

/** The proxies of the guide, each with what its example needs around it to run here. */
const proxies = {
  nginx: {
    command: ({ directory }: Places) => ['nginx', '-p', directory, '-e', 'stderr', '-c', join(directory, 'nginx.conf')],
    file: 'nginx.conf',
    around: (example: string, { directory, port }: Places) => {
      const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name};`);
      const adapted = example
        .replace('listen 443', `listen 127.0.0.1:${port}`)
        .replaceAll(/\/etc\/ssl\/.*\.(pem|key);/g, (_, ending) => `${directory}/front.${ending};`);
      return `daemon off; pid nginx.pid; events {} http { access_log off; ${folders.join(' ')}\n${adapted}\n}`;
    },
  },
  caddy: {
    command: ({ directory }: Places) => [
      'caddy',
      'run',
      '--config',
      join(directory, 'Caddyfile'),
      '--adapter',
      'caddyfile',
    ],
    file: 'Caddyfile',
    around: (example: string, { directory, port }: Places) => {
      const tls = `tls ${directory}/front.pem ${directory}/front.key`;
      const adapted = example.replace('accounts.example.com {', `https://localhost:${port} {\n${tls}`);
      return `{\nadmin off\nauto_https disable_redirects\n}\n${adapted}`;
    },
  },
} as const;
const languages = { nginx: 'nginx', caddy: 'caddyfile' } as const;

for (const name of ['nginx', 'caddy'] as const) {
  const { status, stdout } = spawnSync(name, [name === 'nginx' ? '-v' : 'version'], { encoding: 'utf8' });
  const skip = status !== 0 && `${name} is not here`;
  const forgets = name === 'caddy' && isOlder(stdout, [2, 11, 2]) && 'this Caddy forgets bodies that were refused';

  t.test(`behind ${name} as the guide has it`, { skip }, async (t) => {
    const home = await createHome(t, { prepared: true });
    const own = await freePort();
    // The embedded database has room for one: the other upstream is down then, where the proxy can cope with that.
    const upstreams: [number, number] = [own, engine === 'embedded' && forgets ? own : await freePort()];
    const port = await freePort();
    const start = (index: 0 | 1) =>
      startService(home, {
        ...cheapHashing,
        ADMIN_PASSWORD: password,
        TRUST_PROXY: '127.0.0.1',
        PUBLIC_URL: `https://localhost:${port}`,
        PORT: String(upstreams[index]),
      });
    let first = await start(0);
    let second = engine === 'postgres' ? await start(1) : undefined;
    await startProxy(t, name, { directory: home.directory, port, upstreams });

    await t.test('the address of the client is the one that the proxy sees, whatever the client says', async (t) => {
      const forged = { 'x-forwarded-for': '192.0.2.7', 'x-forwarded-host': 'evil.example', forwarded: 'for=192.0.2.7' };
      const login = await ask(port, 'POST', '/auth/login', forged, credentials);
      t.equal(login.status, 200);
      t.match(login.headers['x-request-id'], /^[0-9a-f-]{32,36}$/);
      const token = { authorization: `Bearer ${JSON.parse(login.body).data.access_token}`, ...forged };
      const sessions = await ask(port, 'GET', '/users/me/sessions', token);
      t.match(JSON.parse(sessions.body).data, [{ address: client }]);
    });

    await t.test(
      'requests are answered while one instance after the other is started anew',
      { skip: forgets },
      async (t) => {
        const statuses = new Map<number, number>();
        let isOver = false;
        const logInAgainAndAgain = async () => {
          while (!isOver) {
            const { status } = await ask(port, 'POST', '/auth/login', {}, credentials);
            statuses.set(status, (statuses.get(status) ?? 0) + 1);
          }
        };
        const clients = [logInAgainAndAgain(), logInAgainAndAgain(), logInAgainAndAgain()];
        await sleep(300);
        if (second) {
          await first.stop();
          first = await start(0);
          await second.stop();
          second = await start(1);
        }
        await sleep(300);
        isOver = true;
        await Promise.all(clients);
        const { 200: answered = 0, ...others } = Object.fromEntries(statuses);
        // Now and then one is lost in the very moment that a listener closes.
        t.ok(answered > 2 && (others[502] ?? 0) <= 1, `${answered} logins`);
        t.strictSame(
          Object.keys(others).filter((status) => status !== '502'),
          [],
        );
      },
    );
  });
}

/** Whether the version that a text begins with comes before another. */
function isOlder(text: string, other: readonly number[]): boolean {
  const version = (/\d+(\.\d+)*/.exec(text)?.[0] ?? '').split('.').map(Number);
  const index = other.findIndex((part, place) => part !== version[place]);
  return index >= 0 && (version[index] ?? 0) < (other[index] ?? 0);
}

/** Starts a proxy by the example in the guide, and waits until it listens. */
async function startProxy(t: Test, name: keyof typeof proxies, places: Places): Promise<void> {
  const { command, file, around } = proxies[name];
  const block = readGuide('docs/deployment.md').find(({ language }) => language === languages[name]);
  const [one, other] = places.upstreams;
  const example = (block?.text ?? '').replaceAll(':8055', `:${one}`).replaceAll(':8056', `:${other}`);
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
  t.teardown(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  for (let waited = 0; !(await isListening(places.port)); waited += 50) {
    if (child.exitCode !== null || waited > 10_000) throw new Error(`${name} does not start: ${said}`);
    await sleep(50);
  }
}

const isListening = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });

/** Asks over TLS, on a connection of its own. */
function ask(port: number, method: string, path: string, headers: Record<string, string>, body?: string) {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: string }>((resolve, reject) => {
    const front = { host: '127.0.0.1', servername: 'localhost', port, ca: testCertificate.cert };
    const options = { ...front, localAddress: client, agent: false, method, path };
    const type =
      body === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(body.length) };
    const host = { host: `localhost:${port}` };
    const request = httpsRequest({ ...options, headers: { ...headers, ...type, ...host } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
    });
    request.on('error', reject).end(body);
  });
}
