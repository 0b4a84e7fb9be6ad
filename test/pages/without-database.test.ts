import t from 'tap';
import { cutDatabase, startTestApp } from '../helpers/service/app.js';

t.test('without a database, the pages still work with the settings that were last read', async (t) => {
  const { app, get } = await startTestApp(t);
  t.equal((await get('/account/login')).statusCode, 200);
  await cutDatabase({ app });
  const start = performance.now();
  for (const page of ['/account/login', '/account/register', '/account/verified']) {
    const { statusCode, body } = await get(page);
    t.equal(statusCode, 200, page);
    t.match(body, '· Gatehouse</title>', page);
  }
  t.ok(performance.now() - start < 5_000, 'the pages respond quickly');
});
