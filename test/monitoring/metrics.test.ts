import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { engine } from '../helpers/database/databases.js';
import { refused } from '../helpers/http/refusals.js';
import { type MetricsText, metricsOf } from '../helpers/measurements/metrics.js';
import { readGuide } from '../helpers/project/guide.js';
import { bearer, cutDatabase, startTestApp } from '../helpers/service/app.js';
import { healthIsFresh } from '../helpers/service/outage.js';
import { createUser } from '../helpers/users/users.js';

const token = 'the-token-that-prometheus-has';

t.test('without a configured token, there are no metrics', async (t) => {
  const { get } = await startTestApp(t);
  refused(t, await get('/metrics', bearer(token)), 'ROUTE_NOT_FOUND', 'the route does not exist');
});

t.test('metrics', async (t) => {
  const service = await startTestApp(t, { METRICS_TOKEN: token });
  const { app, get, post } = service;
  const read = async () => (await get('/metrics', bearer(token))).body;
  const numberOf = (text: string, ...sample: Parameters<MetricsText['value']>) =>
    metricsOf(text).value(...sample) ?? Number.NaN;

  t.test('metrics require the token (CVE-2022-31142)', async (t) => {
    const admin = await post('/auth/login', {
      email: 'admin@example.com',
      password: 'the password of the administrator',
    });
    for (const headers of [
      {},
      bearer('another-token-altogether'),
      bearer(`${token}x`),
      bearer(admin.json().data.access_token),
      { authorization: token },
    ]) {
      refused(t, await get('/metrics', headers), 'INVALID_CREDENTIALS', JSON.stringify(headers));
    }
    refused(
      t,
      await get(`/metrics?access_token=${token}`),
      'INVALID_CREDENTIALS',
      'in the URL, which logs would contain',
    );
    const response = await get('/metrics', bearer(token));
    t.equal(response.statusCode, 200);
    t.match(response.headers['content-type'], /^text\/plain; version=0\.0\.4/);
    t.match(response.headers['cache-control'], 'no-store');
    for (const line of response.body.split('\n').filter((line) => line !== '' && !line.startsWith('#'))) {
      // A summary without measurements has no value.
      t.match(line, /^[a-z0-9_]+(\{([a-z_]+="[^"\n]*",?)+\})? (-?[\d.e+-]+|NaN)$/i);
    }
  });

  t.test('counters exist before anything has happened', async (t) => {
    const metrics = metricsOf(await read());
    for (const outcome of ['success', 'INVALID_CREDENTIALS', 'INVALID_OTP'])
      t.type(metrics.value('gatehouse_events_total', { action: 'login', outcome }), 'number', outcome);
    t.equal(metrics.value('gatehouse_events_total', { action: 'refresh_reused', outcome: 'success' }), 0);
    t.equal(metrics.value('gatehouse_events_total', { action: 'invite_accept', outcome: 'INVALID_INVITE' }), 0);
    t.equal(metrics.value('gatehouse_unavailable_total', { reason: 'database_disk_full' }), 0);
    t.equal(metrics.value('gatehouse_connections_refused_total'), 0);
  });

  t.test('the version, the components, and the queue of emails are described', async (t) => {
    const metrics = metricsOf(await read());
    const [[labels, one] = ['', 0]] = Object.entries(metrics.samples('gatehouse_build_info'));
    t.match(labels, /^version="\d+\.\d+\.\d+",node_version="v\d+\.\d+\.\d+"$/);
    t.equal(one, 1);
    t.equal(metrics.value('gatehouse_database_up'), 1);
    t.equal(metrics.value('gatehouse_redis_up'), undefined, 'Redis is not configured');
    t.equal(metrics.value('gatehouse_oldest_waiting_mail_age_seconds'), 0);
    t.equal(metrics.value('gatehouse_database_writes_failing_since_seconds'), 0);
    t.strictSame(metrics.samples('gatehouse_signing_key_age_seconds'), {}, 'tokens are signed with SECRET');
    const pool = ['in_use', 'waiting', 'size'].map((name) => metrics.value(`gatehouse_database_pool_${name}`));
    if (engine === 'postgres') t.strictSame(pool.slice(1), [0, 5]);
    else t.strictSame(pool, [undefined, undefined, undefined], 'the embedded engine has no pool');
  });

  const noPromtool = spawnSync('promtool', ['--version']).status !== 0 && 'promtool is not installed';
  t.test('the tools of Prometheus report no faults', { skip: noPromtool }, async (t) => {
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input: await read(),
      encoding: 'utf8',
    });
    t.equal(status, 0, stderr);
    t.equal(`${stdout}${stderr}`, '');
  });

  t.test('the rules for alerts in the guide are valid, and refer to metrics that exist', async (t) => {
    const rules = readGuide('docs/operations.md').find(({ language }) => language === 'yaml')?.text ?? '';
    const names = new Set([...(await read()).matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name));
    const used = new Set(rules.match(/\b(gatehouse|nodejs|http)_\w+/g));
    t.ok(used.size > 8);
    for (const name of used) t.ok(names.has(name.replace(/_count$/, '')), name);
    if (noPromtool) return;
    const file = join(t.testdir({ 'rules.yml': rules }), 'rules.yml');
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' });
    t.equal(status, 0, `${stdout}${stderr}`);
  });

  t.test('requests are counted by the pattern of their route', async (t) => {
    const { id } = await createUser(app);
    for (let asked = 0; asked < 3; asked++) await get(`/users/${id}`);
    await get('/nowhere/at/all');
    const text = await read();
    const count = (route: string, status: string) =>
      metricsOf(text).value('http_request_duration_seconds_count', { method: 'GET', route, status });
    t.equal(count('/users/:id', '403'), 3);
    t.equal(count('none', '404'), 1);
    t.notOk(text.includes(id), 'no ids');
    t.notOk(text.includes('nowhere'), 'no unknown paths');
  });

  t.test('metrics show running and waiting work', async (t) => {
    const hashes = app.passwords.hashMany(Array.from({ length: 200 }, () => 'a password'));
    t.ok(numberOf(await read(), 'gatehouse_password_hashes', { state: 'running' }) > 0);
    await hashes;
    const text = await read();
    t.equal(numberOf(text, 'gatehouse_password_hashes', { state: 'running' }), 0);
    t.ok(numberOf(text, 'nodejs_eventloop_lag_seconds') >= 0);
  });

  t.test('metrics count successful and failed actions of users', async (t) => {
    const { email, password } = await createUser(app);
    await post('/auth/login', { email, password });
    await post('/auth/login', { email, password: 'not the password' });
    const text = await read();
    for (const outcome of ['success', 'INVALID_CREDENTIALS'])
      t.ok(numberOf(text, 'gatehouse_events_total', { action: 'login', outcome }) > 0);
  });

  t.test('metrics show waiting emails', async (t) => {
    const { email } = await createUser(app);
    t.equal(numberOf(await read(), 'gatehouse_mails', { state: 'waiting' }), 0);
    await post('/auth/password/request', { email });
    t.equal(numberOf(await read(), 'gatehouse_mails', { state: 'waiting' }), 1);
    const age = () => read().then((text) => numberOf(text, 'gatehouse_oldest_waiting_mail_age_seconds'));
    t.ok((await age()) < 60);
    service.clock.advance(3_600_000);
    const old = await age();
    t.ok(old > 3_500 && old < 3_700, `${old}`);
  });

  t.test('the age of each signing key is shown, by the tokens that it signs', async (t) => {
    const day = 86_400_000;
    const other = await startTestApp(t, { METRICS_TOKEN: token, ACCESS_TOKEN_ALGORITHM: 'EdDSA' });
    const ages = async () => {
      const metrics = metricsOf((await other.get('/metrics', bearer(token))).body);
      const inDays = Object.entries(metrics.samples('gatehouse_signing_key_age_seconds')).map(([labels, seconds]) => {
        const near = Math.round(seconds / 86_400);
        return [labels, Math.abs(seconds - near * 86_400) < 300 ? near : seconds];
      });
      return Object.fromEntries(inDays);
    };
    const accessTokens = 'signs="access_tokens",algorithm="EdDSA"';
    other.clock.advance(day);
    t.strictSame(await ages(), { [accessTokens]: 1 }, 'before the OpenID Connect provider is used');

    await other.get('/oauth/jwks');
    other.clock.advance(day);
    const all = (old: number, young: number) => ({
      [accessTokens]: old,
      'signs="id_tokens",algorithm="EdDSA"': old,
      'signs="id_tokens",algorithm="ES256"': young,
      'signs="id_tokens",algorithm="RS256"': young,
      'signs="resource_tokens",algorithm="RS256"': young,
    });
    t.strictSame(await ages(), all(2, 1));

    await other.app.signingKeys.rotate(day);
    await other.app.signingKeys.reload();
    t.strictSame(await ages(), all(2, 1), 'successors that do not sign yet');
    other.clock.advance(2 * day);
    t.strictSame(await ages(), all(1, 1), 'successors that sign');
  });

  t.test('with HS256, there are only the keys of the OpenID Connect provider', async (t) => {
    await get('/oauth/jwks');
    const labels = Object.keys(metricsOf(await read()).samples('gatehouse_signing_key_age_seconds'));
    t.equal(labels.length, 4);
    t.notMatch(labels.join(), 'access_tokens');
  });

  t.test('metrics are available even if the database is not', async (t) => {
    const before = metricsOf(await read()).names();
    await cutDatabase({ app });
    await healthIsFresh();
    await app.health.check();
    const response = await get('/metrics', bearer(token));
    t.equal(response.statusCode, 200);
    const metrics = metricsOf(response.body);
    t.equal(metrics.value('gatehouse_database_up'), 0);
    t.equal(metrics.value('gatehouse_mails', { state: 'waiting' }), 1, 'as last counted');
    t.strictSame(
      [...before].filter((name) => !metrics.names().has(name)),
      [],
      'no metric is lost',
    );
  });
});
