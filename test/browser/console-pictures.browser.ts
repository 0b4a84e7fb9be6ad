// @suite not-everyday: draws the pictures of the documentation
import { sql } from 'drizzle-orm';
import t from 'tap';
import { startConsole } from '../helpers/browser/console.js';
import { administrator } from '../helpers/users/credentials.js';

// With `SHOTS=docs/images`, this writes the pictures of the console in the documentation. Without it, the test checks that it could.

const { service, call, signedIn } = await startConsole(t);
const { app } = service;

const { id: policy } = await call('POST', '/policies', { name: 'Directory', app_access: true });
await call('POST', '/permissions', {
  policy,
  collection: 'users',
  action: 'read',
  fields: ['id', 'first_name', 'last_name', 'email'],
  permissions: { status: { _eq: 'active' } },
});
const roles: string[] = [];
for (const name of ['Customer', 'Editor', 'Support'])
  roles.push(String((await call('POST', '/roles', { name, policies: [policy] })).id));
const names = [
  'Maria Santos',
  'Kenji Watanabe',
  'Amara Okafor',
  'Lena Fischer',
  'Noah Williams',
  'Priya Nair',
  'Luca Rossi',
  'Sofia Andersson',
  'Omar Haddad',
  'Chloé Martin',
  'Mateo García',
  'Wei Zhang',
];
const signedUp: string[] = [];
for (const [index, name] of names.entries()) {
  const [first_name = '', last_name = ''] = name.split(' ');
  const email = `${first_name}.${last_name}@example.com`.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
  const status = index === 4 ? 'suspended' : index % 5 === 3 ? 'invited' : 'active';
  const { id } = await call('POST', '/users', { first_name, last_name, email, status, role: roles[index % 3] });
  if (status !== 'invited') signedUp.push(String(id));
}
await app.db.execute(sql`update user_uses set last_access = now() - random() * interval '9 days'
  where "user" = any(${`{${signedUp.join()}}`}::uuid[])`);
await app.db.execute(sql`
  insert into activity_counts (unit, series, start, count)
  select 'day', series, day, greatest(1, round((base * (1 + 0.02 * n) * (case when extract(isodow from day) > 5 then 0.55 else 1 end)
    * (0.9 + 0.2 * abs(sin(n * 1.7)))))::int)
  from (values ('sign_ins', 420), ('failed_sign_ins', 31), ('active_users', 510), ('sign_ups', 24)) series(series, base),
    generate_series(0, 29) n, lateral (select date_trunc('day', now() at time zone 'UTC') - (29 - n) * interval '1 day' as day) days
  union all select 'hour', 'active_users', date_trunc('day', now() at time zone 'UTC') - interval '40 days', 1
  on conflict do nothing`);

t.test('the pictures show the console as it is', async (t) => {
  for (const colorScheme of ['light', 'dark'] as const) {
    const person = await signedIn(administrator, {
      colorScheme,
      viewport: { width: 1280, height: 800 },
      deviceScaleFactor: 1.5,
    });
    const { page, open } = person;
    const suffix = colorScheme === 'dark' ? '-dark' : '';
    const draw = async (name: string) => {
      await page.waitForLoadState('networkidle');
      if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${name}${suffix}.png` });
    };
    const filter = JSON.stringify({ status: { _in: ['active', 'invited'] } });
    await open(`/console/users?filter=${encodeURIComponent(filter)}&sort=last_name`);
    await page.getByText('Maria Santos').waitFor();
    await page.locator('[data-row] input').nth(1).check();
    await draw('console-users');
    await open('/console/overview');
    await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
    await draw('console-overview');
    await open(`/console/simulator?as=role:${roles[1]}`);
    await page.getByText('Because of the policy').first().waitFor();
    await draw('console-simulator');
    t.strictSame(person.complaints(), []);
  }
});
