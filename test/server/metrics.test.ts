import t from 'tap';
import { bearer, cutDatabase, startTestApp } from '../helpers/app.js';
import { createUser } from '../helpers/records.js';
import { refused } from '../helpers/refusals.js';
import { engine } from '../helpers/service.js';

const token = 'the-token-that-prometheus-has';

/** The value of a sample, identified by its name and labels. */
const sample = (text: string, name: string) =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.split(' ')
      .at(-1),
  );

t.test('without a configured token, there are no metrics', async (t) => {
  const { get } = await startTestApp(t);
  refused(t, await get('/metrics', bearer(token)), 'ROUTE_NOT_FOUND', 'the route does not exist');
});

t.test('metrics', async (t) => {
  const service = await startTestApp(t, { METRICS_TOKEN: token });
  const { app, get, post } = service;
  const read = async () => (await get('/metrics', bearer(token))).body;

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

  t.test('requests are counted by the pattern of their route', async (t) => {
    const { id } = await createUser(app);
    for (let asked = 0; asked < 3; asked++) await get(`/users/${id}`);
    await get('/nowhere/at/all');
    const text = await read();
    t.equal(sample(text, 'http_request_duration_seconds_count{method="GET",route="/users/:id",status="403"}'), 3);
    t.equal(sample(text, 'http_request_duration_seconds_count{method="GET",route="none",status="404"}'), 1);
    t.notOk(text.includes(id), 'no ids');
    t.notOk(text.includes('nowhere'), 'no unknown paths');
  });

  t.test('metrics show running and waiting work', async (t) => {
    const hashes = app.passwords.hashMany(Array.from({ length: 200 }, () => 'a password'));
    t.ok(sample(await read(), 'gatehouse_password_hashes{state="running"}') > 0);
    await hashes;
    const text = await read();
    t.equal(sample(text, 'gatehouse_password_hashes{state="running"}'), 0);
    t.ok(sample(text, 'nodejs_eventloop_lag_seconds') >= 0);
    if (engine === 'postgres') t.ok(sample(text, 'gatehouse_database_work{state="running"}') >= 0);
    else t.notOk(text.includes('gatehouse_database_work{'), 'without a connection pool, there is no such metric');
  });

  t.test('metrics count successful and failed actions of users', async (t) => {
    const { email, password } = await createUser(app);
    await post('/auth/login', { email, password });
    await post('/auth/login', { email, password: 'not the password' });
    const text = await read();
    t.ok(sample(text, 'gatehouse_events_total{action="login",outcome="success"}') > 0);
    t.ok(sample(text, 'gatehouse_events_total{action="login",outcome="INVALID_CREDENTIALS"}') > 0);
  });

  t.test('metrics show waiting emails', async (t) => {
    const { email } = await createUser(app);
    t.equal(sample(await read(), 'gatehouse_mails{state="waiting"}'), 0);
    await post('/auth/password/request', { email });
    t.equal(sample(await read(), 'gatehouse_mails{state="waiting"}'), 1);
  });

  t.test('metrics are available even if the database is not', async (t) => {
    await cutDatabase({ app });
    const response = await get('/metrics', bearer(token));
    t.equal(response.statusCode, 200);
    t.match(response.body, 'nodejs_eventloop_lag_seconds');
    t.notMatch(response.body, 'gatehouse_mails{');
  });
});
