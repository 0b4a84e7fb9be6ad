// @suite not-everyday: tries every way to send a request from another site

/**
 * Pages on other sites, in a real browser that has our cookies. Their requests arrive with the cookies, to no effect.
 * `http/csrf.test.ts` tests the same without a browser, with every spelling of an origin.
 */
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import {
  type Attack,
  attackerPage,
  type ForgedRequest,
  formTypes,
  guisesOf,
  leavingPage,
  sandboxedPage,
  sendMethods,
} from '../helpers/browser/attacker-page.js';
import { startProfile } from '../helpers/browser/browser.js';
import { schemas } from '../helpers/database/databases.js';
import { dumpDatabase } from '../helpers/database/dump.js';
import { providerVariables } from '../helpers/providers/openid-provider.js';
import { freePort } from '../helpers/servers/ports.js';
import { startWebServer } from '../helpers/servers/web-server.js';
import { startTestApp } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';
import { refreshCookie, sessionCookie } from '../helpers/users/sessions.js';
import { createUser } from '../helpers/users/users.js';

// Browsers treat hosts that end in `localhost` as secure: they send `Sec-Fetch-Site` and accept `Secure` cookies.
const context = await startProfile(t, ['--host-resolver-rules=MAP *.localhost 127.0.0.1, MAP *.test 127.0.0.1']);
const page = await context.newPage();

/** The page that the other web server returns, whatever its host name. */
let shown: { html: string; headers: Record<string, string> };
const elsewhere = await startWebServer(
  t,
  () => (response) => response.writeHead(200, { 'content-type': 'text/html', ...shown.headers }).end(shown.html),
);
const at = (host: string) => `http://${host}:${new URL(elsewhere).port}`;

async function visit(host: string, html: string, headers: Record<string, string> = {}): Promise<void> {
  shown = { html, headers };
  await page.goto(at(host));
}

/** A request that arrived at the service, and the response. */
interface Arrival {
  method: string;
  path: string;
  type: string | undefined;
  headers: IncomingMessage['headers'];
  status: number;
  setCookie: unknown;
}

async function startTarget(host: string, variables: Record<string, string> = {}) {
  const port = await freePort();
  const url = `http://${host}:${port}`;
  const { app } = await startTestApp(t, {
    PORT: String(port),
    PUBLIC_URL: url,
    AUTH_PROVIDERS: 'alpha',
    ...providerVariables('alpha', {
      DRIVER: 'oauth2',
      CLIENT_ID: 'x',
      CLIENT_SECRET: 'x',
      AUTHORIZE_URL: 'http://127.0.0.1:9/authorize',
      ACCESS_URL: 'http://127.0.0.1:9/token',
      PROFILE_URL: 'http://127.0.0.1:9/user',
    }),
    ...variables,
  });
  await app.listen({ host: '127.0.0.1', port });
  const arrivals: Arrival[] = [];
  app.server.on('request', ({ method = '', url: path = '', headers }, response) => {
    response.on('finish', () => {
      const { statusCode: status } = response;
      const type = headers['content-type']?.split(';')[0];
      arrivals.push({ method, path, type, headers, status, setCookie: response.getHeader('set-cookie') });
    });
  });

  return {
    url,
    app,
    /** Calls the service from one of its own pages. @returns the status */
    async call(method: string, path: string, body?: object): Promise<unknown> {
      if (!page.url().startsWith(`${url}/server/ping`)) await page.goto(`${url}/server/ping`);
      const headers = body ? { 'content-type': 'application/json' } : {};
      const options = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
      return page.evaluate(
        `fetch(${JSON.stringify(path)}, ${JSON.stringify(options)}).then((response) => response.status)`,
      );
    },
    async cookies(): Promise<string[]> {
      const all = await context.cookies(url);
      const others = all.filter(({ name }) => !name.endsWith('gatehouse_known_browser'));
      return others.map(({ name, value }) => `${name}=${value}`).sort();
    },
    /** All stored data, without the fields that the audit log adds to its rows later. */
    async stored(): Promise<string[]> {
      const lines = (await dumpDatabase(app, 'changes')).split('\n');
      return lines
        .filter((line) => !/^(public\.activity_chain|pgboss\.queue) /.test(line))
        .map((line) =>
          line.startsWith(`${schemas.tables}.activity `) ? line.replaceAll(/"(hash|position)": [^,]+, /g, '') : line,
        )
        .sort();
    },
    /** The requests since the last call. Waits for this number of POST requests, because beacons can be slow. */
    async arrived(posts = 0): Promise<Arrival[]> {
      const isThere = () => arrivals.filter(({ method }) => method === 'POST').length >= posts;
      for (let tries = 0; !isThere() && tries < 500; tries++) await sleep(10);
      return arrivals.splice(0);
    },
  };
}
type Target = Awaited<ReturnType<typeof startTarget>>;

/** Its cookies are sent from every site. */
const open = await startTarget('accounts.bank.localhost', {
  SESSION_COOKIE_SECURE: 'true',
  SESSION_COOKIE_SAME_SITE: 'none',
  REFRESH_TOKEN_COOKIE_SECURE: 'true',
  REFRESH_TOKEN_COOKIE_SAME_SITE: 'none',
});
/** The defaults. To a host that is not secure, a browser sends only the origin of a page. */
const plain = await startTarget('accounts.bank.test');

interface Stranger {
  what: string;
  target: Target;
  host: string;
  wrap?: (page: string) => string;
  headers?: Record<string, string>;
  /** What the browser sends in `Origin`. A page can hide its origin, except where it tries to read the response. */
  origin: string;
  site: string | undefined;
}

const evil = { target: open, host: 'evil.localhost', site: 'cross-site' };
const strangers: Stranger[] = [
  { what: 'a page of another site', ...evil, origin: at('evil.localhost') },
  { what: 'a sandboxed frame on another site', ...evil, wrap: sandboxedPage, origin: 'null' },
  {
    what: 'a page that hides its origin',
    ...evil,
    headers: { 'referrer-policy': 'no-referrer' },
    origin: 'null',
  },
  {
    what: 'a neighbor on the same site',
    target: open,
    host: 'blog.bank.localhost',
    origin: at('blog.bank.localhost'),
    site: 'same-site',
  },
  {
    what: 'the same host on another port',
    target: plain,
    host: 'accounts.bank.test',
    origin: at('accounts.bank.test'),
    site: undefined,
  },
  {
    what: 'a neighbor, if browsers send no Sec-Fetch-Site',
    target: plain,
    host: 'blog.bank.test',
    origin: at('blog.bank.test'),
    site: undefined,
  },
];

const someDeeds: ForgedRequest[] = [
  { path: '/auth/logout', body: { mode: 'session' } },
  { path: '/users', body: { email: 'planted@example.com' } },
  { path: '/auth/login', body: { ...administrator, mode: 'session' } },
];
/** Each would change something if it succeeded. */
const allDeeds: ForgedRequest[] = [
  ...someDeeds,
  { path: '/auth/logout', body: { mode: 'cookie' } },
  { path: '/auth/refresh', body: { mode: 'cookie' } },
  { path: '/roles', body: { name: 'planted' } },
  { path: '/users/register', body: { email: 'registered@example.com', password: 'the password of a page' } },
  { path: '/auth/password/request', body: { email: administrator.email } },
  { path: '/users/me/tfa/generate', body: { password: administrator.password } },
  { path: '/users/me/identities/alpha', body: {} },
];
const rename: ForgedRequest = { path: '/users/me', body: { first_name: 'Mallory' } };
const reads = [
  '/auth/logout',
  '/auth/logout?_method=POST',
  '/auth/refresh?mode=cookie',
  `/auth/login?${new URLSearchParams({ ...administrator, mode: 'session' })}`,
  '/users/me?_method=PATCH&first_name=Mallory',
  '/users/me/sessions?_method=DELETE',
];

/** Makes another page send all requests, and returns those that arrived. The page must not read any response. */
async function suffer(t: Test, { target, host, wrap = (html) => html, headers }: Stranger, attack: Attack) {
  await target.arrived();
  await visit(host, wrap(attackerPage(attack)), headers);
  await page.waitForFunction("document.title.startsWith('done')", undefined, { polling: 20 });
  t.equal(await page.title(), 'done, answers read: 0');
  const arrivals = await target.arrived(attack.deeds.length);
  const posts = arrivals.filter(({ method }) => method === 'POST');
  t.strictSame(
    posts.map(({ path, type }) => `${path} ${type}`).sort(),
    attack.deeds.map(([guise, { path }]) => `${path} ${sendMethods[guise]}`).sort(),
    'every POST request arrived, except those that need a preflight',
  );
  const loaded = arrivals.filter(({ method }) => method === 'GET');
  t.equal(loaded.length, attack.reads.length, 'every GET request arrived');
  const others = arrivals.filter((arrival) => !posts.includes(arrival) && !loaded.includes(arrival));
  t.strictSame([...new Set(others.map(({ method }) => method))], ['OPTIONS'], 'the others only sent a preflight');
  t.strictSame(
    arrivals.filter(({ setCookie }) => setCookie !== undefined),
    [],
    'no response sets or clears a cookie',
  );
  return { posts, loaded };
}

for (const stranger of strangers) {
  const { what, target, host, origin, site } = stranger;
  const isShy = stranger.headers !== undefined;
  t.test(`${what} has no effect with the cookies of its visitor`, async (t) => {
    await context.clearCookies();
    for (const mode of ['cookie', 'session'])
      t.equal(await target.call('POST', '/auth/login', { ...administrator, mode }), 200);
    const cookies = await target.cookies();
    t.match(cookies, [new RegExp(`^${refreshCookie}=.`), new RegExp(`^${sessionCookie}=.`)]);
    const before = await target.stored();

    const deeds = stranger === strangers[0] ? allDeeds : someDeeds;
    const { posts, loaded } = await suffer(t, stranger, {
      target: target.url,
      deeds: guisesOf(deeds),
      questions: [
        ...deeds.map((deed) => ['json', deed] as const),
        ['method', rename, 'PATCH'],
        ['method', { path: '/users/me/sessions', body: {} }, 'DELETE'],
        ['method', { path: '/users', body: {} }, 'SEARCH'],
        ['header', rename],
        ['beacon', someDeeds[1] as ForgedRequest],
      ],
      reads: (['img', 'iframe', 'script', 'stylesheet', 'fetch'] as const).flatMap((part) =>
        reads.map((path) => [part, path] as const),
      ),
    });
    const seen = (wanted: (arrival: Arrival) => boolean, message: string) =>
      t.strictSame(
        posts.filter((arrival) => !wanted(arrival)),
        [],
        message,
      );
    const carries = ({ headers }: Arrival) =>
      [refreshCookie, sessionCookie].every((name) => headers.cookie?.includes(`${name}=`));
    seen(carries, 'both cookies were sent');
    seen(({ headers: sent }) => sent.origin === origin || (isShy && sent.origin === at(host)), `from ${origin}`);
    seen(({ headers }) => headers['sec-fetch-site'] === site, `Sec-Fetch-Site: ${site}`);
    seen(({ status }) => status === 403, 'the service rejected the requests');
    t.ok(loaded.every(carries), 'both cookies were sent with GET requests too');
    t.strictSame(await target.stored(), before, 'no stored data has changed');
    t.strictSame(await target.cookies(), cookies, 'the cookies have not changed');
    t.equal(await target.call('GET', '/users/me?fields=id'), 200, 'the visitor is still signed in');
    t.equal(await target.call('POST', '/auth/logout', { mode: 'session' }), 204);
    t.strictSame(await target.cookies(), [], 'the visitor has signed out');
  });

  t.test(`${what} signs no visitor in, whatever the account`, async (t) => {
    await context.clearCookies();
    const { email, password } = await createUser(target.app);
    const before = await target.stored();
    const logins = ['session', 'cookie'].map((mode) => ({ path: '/auth/login', body: { email, password, mode } }));
    const { posts } = await suffer(t, stranger, {
      target: target.url,
      deeds: guisesOf(logins),
      questions: logins.flatMap((deed) => [['json', deed] as const, ['beacon', deed] as const]),
      reads: [['img', `/auth/login?${new URLSearchParams({ email, password, mode: 'session' })}`]],
    });
    t.ok(posts.every(({ status }) => status === 400 || status === 403));
    t.strictSame(await target.stored(), before, 'no session was created');
    t.strictSame(await target.cookies(), [], 'no user is signed in');
    t.equal(
      await target.call('POST', '/auth/login', { email, password, mode: 'session' }),
      200,
      'a login from our own page works',
    );
  });
}

for (const { what, target, host } of [strangers[0], strangers[5]] as Stranger[]) {
  t.test(`${what} has no effect by navigating to the service`, async (t) => {
    const leave = async (type: string, deed: ForgedRequest) => {
      await target.arrived();
      await visit(host, leavingPage(`${target.url}${deed.path}`, type, deed));
      await page.waitForURL(`${target.url}${deed.path}`);
      const [arrival] = (await target.arrived(1)).filter(({ method }) => method === 'POST');
      t.match(arrival, { path: deed.path, type, setCookie: undefined }, `${type} ${deed.path}`);
      return arrival;
    };
    await context.clearCookies();
    const before = await target.stored();
    for (const type of formTypes) {
      const arrival = await leave(type, someDeeds[2] as ForgedRequest);
      t.ok([400, 403].includes(arrival?.status ?? 0), 'no user is signed in by it');
    }
    t.strictSame(await target.cookies(), []);
    t.strictSame(await target.stored(), before);

    t.equal(await target.call('POST', '/auth/login', { ...administrator, mode: 'session' }), 200);
    const [signedIn, cookies] = [await target.stored(), await target.cookies()];
    for (const type of formTypes) {
      for (const deed of someDeeds.slice(0, 2)) {
        const arrival = await leave(type, deed);
        t.equal(arrival?.status, 403);
        t.match(arrival?.headers.cookie, `${sessionCookie}=`);
      }
    }
    await visit(host, '<title>Cats</title>');
    await page.evaluate(`location.href = ${JSON.stringify(`${target.url}/auth/logout`)}`);
    await page.waitForURL(`${target.url}/auth/logout`);
    t.strictSame(await target.cookies(), cookies);
    t.strictSame(await target.stored(), signedIn);
  });
}
