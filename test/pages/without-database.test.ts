import t from 'tap';
import { cutDatabase, startTestApp } from '../helpers/app.js';

t.test('without a database there are pages all the same, with the settings as they were last read', async (t) => {
  const { app, get } = await startTestApp(t);
  t.equal((await get('/account/login')).statusCode, 200);
  await cutDatabase({ app });
  const start = performance.now();
  for (const page of ['/account/login', '/account/register', '/account/verified']) {
    const { statusCode, body } = await get(page);
    t.equal(statusCode, 200, page);
    t.match(body, '· Gatehouse</title>', page);
  }
  t.ok(performance.now() - start < 5_000, 'and soon');
});
