// @suite postgres-only: only PostgreSQL allows a second process beside the service
// @suite not-everyday: starts many processes

import { join } from 'node:path';
import { calculateJwkThumbprint } from 'jose';
import t from 'tap';
import { loadConfig } from '../../plugins/platform/config.js';
import { type KeySet, keyPairAlgorithms } from '../../schemas/jwks.js';
import { openServices } from '../../services.js';
import { engine } from '../helpers/database/databases.js';
import { bearer } from '../helpers/service/app.js';
import { runCommand } from '../helpers/service/command.js';
import { createHome, environment, type Home, logIn, type Service, startService } from '../helpers/service/service.js';
import { cheapHashing } from '../helpers/service/variables.js';
import { decodeJwt } from '../helpers/tokens/jwt.js';

const eddsa = { ...cheapHashing, ADMIN_PASSWORD: 'the password', ACCESS_TOKEN_ALGORITHM: 'EdDSA' };

/** The output and exit code of `npm run keys:rotate`. */
const rotate = (home: Home, args: string[] = [], more: Record<string, string> = {}) =>
  runCommand(home, 'keys-rotate', args, { ...eddsa, ...more });

const kidsOf = async (service: Service) =>
  ((await (await service.get('/.well-known/jwks.json')).json()) as KeySet).keys.map(({ kid }) => kid);

t.test('keys:rotate creates a key that signs later, and --revoke replaces all keys', async (t) => {
  const home = await createHome(t, { prepared: true });
  let service = await startService(home, eddsa);
  const { body } = await logIn(service, 'the password');
  const token = body.data.access_token;
  const [first] = await kidsOf(service);

  /** On the embedded engine, only one process can open the database. */
  const withDatabase = async (work: () => Promise<void>) => {
    if (engine === 'embedded') await service.stop();
    await work();
    if (engine === 'embedded') service = await startService(home, eddsa);
  };

  if (engine === 'embedded') {
    const beside = await rotate(home);
    t.equal(beside.code, 1);
    t.match(beside.said, /^No keys were changed\. .* in use by another Gatehouse process/);
    const none = await rotate(await createHome(t));
    t.match(none.said, /There is no database in \.\/data/);
  } else {
    const none = await rotate(await createHome(t));
    t.match(none.said, /The tables are not up to date: .*Start the service once/);
  }

  let made: string | undefined;
  await withDatabase(async () => {
    const hs256 = await rotate(home, [], { ACCESS_TOKEN_ALGORITHM: 'HS256' });
    t.equal(hs256.code, 1);
    t.match(hs256.said, /ACCESS_TOKEN_ALGORITHM is HS256/);
    for (const args of [['--after=soon'], ['--after=1h', '--revoke'], ['--now'], ['1h']]) {
      const { code, said } = await rotate(home, args);
      t.equal(code, 1, args.join(' '));
      t.match(said, /^No keys were changed\. [^\n]+\n$/, 'a message in one sentence');
    }
    const { code, said } = await rotate(home);
    t.equal(code, 0, said);
    made = /^The new key is ([\w-]{43}) \(EdDSA\)\./.exec(said)?.[1];
    const [moment = ''] = /\d{4}-\S+Z/.exec(said) ?? [];
    t.ok(Math.abs(Date.parse(moment) - Date.now() - 3_600_000) < 60_000, 'the key signs in an hour');
    const again = await rotate(home, ['--after=0s']);
    const unchanged = `A rotation is already in progress: ${made} (EdDSA) signs from ${moment}.\nNothing was changed.\n`;
    t.strictSame(again, { code: 0, said: unchanged });
  });
  // Waits at least for the interval at which an instance reads the keys.
  for (let waited = 0; (await kidsOf(service)).length < 2 && waited < 10_000; waited += 200) await pause(200);
  t.strictSame(await kidsOf(service), [made, first], 'the running instance has loaded the new key');
  const { body: next } = await logIn(service, 'the password');
  t.equal(decodeJwt(next.data.access_token).header.kid, first, 'it still signs with the old key');

  await withDatabase(async () => {
    const { code, said } = await rotate(home, ['--revoke']);
    t.equal(code, 0, said);
    t.match(said, /^2 keys were removed\..*\nThe new key is [\w-]{43} \(EdDSA\)\. It signs tokens from now on\.\n$/);
  });
  for (let waited = 0; (await kidsOf(service)).includes(made ?? '') && waited < 10_000; waited += 200) await pause(200);
  const [kid, ...others] = await kidsOf(service);
  t.strictSame(others, []);
  t.equal((await service.get('/users/me', bearer(token))).status, 403);
  const { body: last } = await logIn(service, 'the password');
  t.equal(decodeJwt(last.data.access_token).header.kid, kid);
  const [key] = ((await (await service.get('/.well-known/jwks.json')).json()) as KeySet).keys;
  t.equal(await calculateJwkThumbprint(key as object), kid);

  const query = 'filter[collection][_eq]=signing_keys&sort=id&fields=action,user,item';
  const log = await service.get(`/activity?${query}`, bearer(last.data.access_token));
  t.match(await log.json(), {
    data: [
      { action: 'create', user: null, item: first },
      { action: 'create', user: null, item: made },
      { action: 'delete', user: null },
      { action: 'delete', user: null },
      { action: 'create', user: null, item: kid },
    ],
  });
  await service.stop();
  t.equal((await runCommand(home, 'audit-verify', [], eddsa)).code, 0, 'the audit log is intact');
});

t.test('keys:rotate and --revoke replace the keys of all algorithms', async (t) => {
  const home = await createHome(t, { prepared: true });
  const hs256 = { ...cheapHashing, ADMIN_PASSWORD: 'the password' };
  await (await startService(home, hs256)).stop();
  const command = (...args: string[]) => runCommand(home, 'keys-rotate', args, hs256);
  const nothing = await command();
  t.match(nothing, { code: 1, said: /ACCESS_TOKEN_ALGORITHM is HS256/ });

  const config = loadConfig({ DATA_DIR: join(home.directory, 'data'), ...environment(home, hs256) });
  const services = await openServices(config);
  const { signing } = await services.signingKeys.providerKeys();
  await services.close();

  const one =
    /^The new key is ([\w-]{43}) \((\w+)\)\. It is now in the key set, and will start signing tokens at (\S+Z)\.$/;
  const readNew = (said: string) => {
    const found = said.split('\n').flatMap((line) => {
      const [, kid = '', algorithm, moment] = one.exec(line) ?? [];
      return algorithm ? [{ kid, algorithm, moment }] : [];
    });
    return found;
  };
  const rotated = await command();
  t.equal(rotated.code, 0, rotated.said);
  const made = readNew(rotated.said);
  t.strictSame(
    made.map(({ algorithm }) => algorithm),
    [...keyPairAlgorithms],
  );
  t.match(
    rotated.said,
    'The current keys sign until then. They stay in the set for as long as clients can present tokens',
  );
  const again = await command('--after=0s');
  t.match(again, { code: 0, said: /\nNothing was changed\.\n$/ });
  for (const { kid, algorithm } of made) {
    t.match(again.said, `A rotation is already in progress: ${kid} (${algorithm}) signs from `);
  }
  const service = await startService(home, hs256);
  const kids = [...made, ...signing].map(({ kid }) => kid);
  t.strictSame((await kidsOf(service)).sort(), kids.sort());
  await service.stop();

  const revoked = await command('--revoke');
  t.match(revoked, { code: 0, said: /^6 keys were removed\./ });
  t.equal(revoked.said.match(/^The new key is [\w-]{43} \(\w+\)\. It signs tokens from now on\.$/gm)?.length, 3);
  await (await startService(home, hs256)).stop();
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
