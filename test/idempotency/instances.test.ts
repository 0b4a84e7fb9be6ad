// @suite postgres-only: several instances share a database

import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import t from 'tap';
import { users } from '../../db/schema.js';
import { asAdmin, startWithAdmin } from '../helpers/http/writing.js';
import { instancesBeside } from '../helpers/service/instances.js';

t.test('fifty parallel requests to two instances have one effect and get the same response', async (t) => {
  const service = await startWithAdmin(t);
  const apps = [service.app, await instancesBeside(t, service)({})];
  for (let round = 0; round < 5; round++) {
    const payload = { email: `${randomUUID()}@example.com`, password: 'a strong pass phrase 7' };
    const headers = { ...asAdmin, 'idempotency-key': randomUUID() };
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        (apps[index % 2] ?? service.app).inject({ method: 'POST', url: '/users', headers, payload }),
      ),
    );
    t.strictSame([...new Set(responses.map(({ statusCode }) => statusCode))], [200]);
    t.equal(new Set(responses.map(({ body }) => body)).size, 1);
    t.equal(responses.filter((response) => response.headers['idempotency-replayed'] === 'true').length, 49);
    const found = await service.app.db.select({ id: users.id }).from(users).where(eq(users.email, payload.email));
    t.equal(found.length, 1);
  }
});
