// @suite postgres-only: only PostgreSQL allows several instances
// @suite not-everyday: starts many processes

import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import * as oidc from 'openid-client';
import t from 'tap';
import { engine } from '../helpers/database/databases.js';
import { send } from '../helpers/http/send.js';
import { startGuideProxy } from '../helpers/servers/guide-proxy.js';
import { freePort } from '../helpers/servers/ports.js';
import { testCertificate } from '../helpers/servers/tls-front.js';
import { createHome, startService } from '../helpers/service/service.js';
import { cheapHashing } from '../helpers/service/variables.js';
import { administrator } from '../helpers/users/credentials.js';

const password = 'the password';
/** An address of this machine other than that of the proxy. */
const client = '127.0.0.2';
const credentials = JSON.stringify({ ...administrator, password });

for (const name of ['nginx', 'caddy'] as const) {
  const { status, stdout } = spawnSync(name, [name === 'nginx' ? '-v' : 'version'], { encoding: 'utf8' });
  const skip = status !== 0 && `${name} is not installed`;
  const losesBodies =
    name === 'caddy' &&
    isOlder(stdout, [2, 11, 2]) &&
    'this version of Caddy does not resend request bodies when a connection is refused';

  t.test(`the service works behind ${name}, configured as in the guide`, { skip }, async (t) => {
    const home = await createHome(t, { prepared: true });
    const own = await freePort();
    // The embedded database allows one instance, so the other upstream is down if the proxy supports that.
    const upstreams: [number, number] = [own, engine === 'embedded' && losesBodies ? own : await freePort()];
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
    await startGuideProxy(t, name, { directory: home.directory, port, upstreams });

    await t.test('the client address is the one that the proxy sees, whatever headers the client sends', async (t) => {
      const forged = { 'x-forwarded-for': '192.0.2.7', 'x-forwarded-host': 'evil.example', forwarded: 'for=192.0.2.7' };
      const login = await ask(port, 'POST', '/auth/login', forged, credentials);
      t.equal(login.status, 200);
      t.match(login.headers['x-request-id'], /^[0-9a-f-]{32,36}$/);
      const token = { authorization: `Bearer ${JSON.parse(login.text).data.access_token}`, ...forged };
      const sessions = await ask(port, 'GET', '/users/me/sessions', token);
      t.match(JSON.parse(sessions.text).data, [{ address: client }]);
    });

    await t.test(
      'requests are answered while the instances are restarted one after another',
      { skip: losesBodies },
      async (t) => {
        const statuses = new Map<number, number>();
        let isOver = false;
        const logInRepeatedly = async () => {
          while (!isOver) {
            const { status, text } = await ask(port, 'POST', '/auth/login', {}, credentials);
            statuses.set(status, (statuses.get(status) ?? 0) + 1);
            if (status !== 200) t.comment(`${status} ${text}`);
          }
        };
        const clients = [logInRepeatedly(), logInRepeatedly(), logInRepeatedly()];
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
        // Occasionally, a request is lost at the moment when a listener closes.
        t.ok(answered > 2 && (others[502] ?? 0) <= 1, `${answered} logins`);
        t.strictSame(
          Object.keys(others).filter((status) => status !== '502'),
          [],
        );
      },
    );
  });
}

const isInstalled = spawnSync('nginx', ['-v']).status === 0;

t.test(
  'behind nginx under a path, clients find the metadata',
  { skip: !isInstalled && 'nginx is not installed' },
  async (t) => {
    const home = await createHome(t, { prepared: true });
    const [own, port] = [await freePort(), await freePort()];
    const issuer = `https://localhost:${port}/iam/auth`;
    await startService(home, { ...cheapHashing, ADMIN_PASSWORD: password, PUBLIC_URL: issuer, PORT: String(own) });
    await startGuideProxy(t, 'nginx', { directory: home.directory, port, upstreams: [own, own], isUnderPath: true });
    const root = `https://localhost:${port}`;
    for (const url of [
      `${issuer}/.well-known/openid-configuration`,
      `${root}/.well-known/oauth-authorization-server/iam/auth`,
      `${root}/.well-known/openid-configuration/iam/auth`,
    ]) {
      const { status, text } = await ask(port, 'GET', url.slice(root.length), {});
      t.equal(status, 200, url);
      t.equal(JSON.parse(text).issuer, issuer, url);
    }
    // With the rules of each standard, a client library constructs the URL from the issuer.
    for (const algorithm of ['oidc', 'oauth2'] as const) {
      const config = await oidc.discovery(new URL(issuer), 'client', undefined, oidc.None(), {
        algorithm,
        [oidc.customFetch]: async (url) => {
          const { status, text } = await ask(port, 'GET', url.slice(root.length), {});
          return new Response(text, { status, headers: { 'content-type': 'application/json' } });
        },
      });
      t.equal(config.serverMetadata().token_endpoint, `${issuer}/oauth/token`, algorithm);
    }
    const ofOther = await ask(port, 'GET', '/.well-known/oauth-authorization-server', {});
    t.not(ofOther.status, 200, 'the issuer without a path belongs to another service');
  },
);

/** Whether the version at the start of a text is older than another. */
function isOlder(text: string, other: readonly number[]): boolean {
  const version = (/\d+(\.\d+)*/.exec(text)?.[0] ?? '').split('.').map(Number);
  const index = other.findIndex((part, place) => part !== version[place]);
  return index >= 0 && (version[index] ?? 0) < (other[index] ?? 0);
}

/** Sends a request over TLS, on its own connection. */
function ask(port: number, method: string, path: string, headers: Record<string, string>, body?: string) {
  const front = { servername: 'localhost', ca: testCertificate.cert, localAddress: client };
  const host = { host: `localhost:${port}` };
  return send(`https://127.0.0.1:${port}${path}`, { ...front, method, headers: { ...headers, ...host } }, body);
}
