import t from 'tap';
import { readMailbox } from '../../db/queries/mail/mailbox.js';
import { settings, users } from '../../db/schema.js';
import { mailsTo } from '../helpers/mail/mails.js';
import { allOperations, configOf } from '../helpers/openapi/operations.js';
import { startTestApp } from '../helpers/service/app.js';
import { createPolicy, createRole } from '../helpers/users/rights.js';
import { openSession } from '../helpers/users/sessions.js';
import { createUser, createUserWithToken } from '../helpers/users/users.js';

/** Which addresses are valid, and where emails go. The rules are the same for all operations that accept an address. */

const service = await startTestApp(t, { REGISTRATION_ANSWER_TIME: '1ms' });
const { app, post, request } = service;
await app.db.update(settings).set({ publicRegistration: true });
const administrator = await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] });
// A static token may not change the address of its own user.
const session = await openSession(app, administrator.id);
const role = await createRole(app);
const password = 'a password that is long enough';

const accepting = allOperations({ id: administrator.id }).filter(({ fields }) => fields.has('email'));

/** All emails that were sent. */
async function allMails() {
  await mailsTo(app, '');
  return readMailbox(app.db);
}

const evil = 'victim@evil.example';
const hostile = [
  // Several addresses to a parser that splits them.
  `victim@example.com,${evil}`,
  `victim@example.com, ${evil}`,
  `victim@example.com;${evil}`,
  `victim@example.com ${evil}`,
  `${evil},victim@example.com`,
  `group: ${evil}, victim@example.com;`,
  // Different addresses to different parsers.
  `"${evil} x"@example.com`,
  `"${evil}"@example.com`,
  `"a\\"@evil.example,b"@example.com`,
  `<${evil}>victim@example.com`,
  `victim@example.com <${evil}>`,
  `Victim <victim@example.com>`,
  `victim(${evil})@example.com`,
  `victim@example.com(comment)`,
  'victim@evil.example@example.com',
  'victim@[192.0.2.7]',
  'victim@example.com\\@evil.example',
  'victim%evil.example@',
  // Text that normalization turns into another address.
  'victim＠evil.example',
  'victim﹫evil.example@example.com',
  'ｖictim@example.com',
  'victim@exampⅼe.com',
  'victim@example。com',
  'víctim@example.com',
  'victim@example.com\u200b',
  'vi\u00adctim@example.com',
  // Injected header lines and SMTP commands.
  `victim@example.com\r\nBcc: ${evil}`,
  `victim@example.com\nRCPT TO:<${evil}>`,
  'victim@example.com\r\n.\r\nQUIT\r\n',
  'victim@example.com\u0085x',
  ' victim@example.com',
  'victim@example.com\t',
  // Text that takes a naive parser a long time.
  `${'('.repeat(50_000)}victim@example.com`,
  `${'"'.repeat(50_001)}@example.com`,
  `${'a:'.repeat(30_000)}victim@example.com`,
  `${'<'.repeat(50_000)}victim@example.com`,
  `victim@${'a-'.repeat(30_000)}`,
  `victim@${'a.'.repeat(60)}!`,
];

t.test(
  'every operation rejects text that is not a single address (CVE-2022-35924, GHSA-7rqj-j65f-68wh, CVE-2025-13033, CVE-2025-14874, GHSA-vvjj-xcjg-gr5g)',
  async (t) => {
    t.strictSame(
      accepting.map(({ operationId }) => operationId).sort(),
      [
        'checkPassword',
        'createUsers',
        'invite',
        'login',
        'loginWithEmail',
        'register',
        'requestEmailChange',
        'requestEmailLogin',
        'requestPasswordReset',
        'resendVerification',
        'updateMe',
        'updateUser',
      ].sort(),
    );
    // Users that a careless parser would find.
    await createUser(app, { email: 'victim@example.com' });
    await createUser(app, { email: evil });
    const stored = async () =>
      (await app.db.select({ id: users.id, email: users.email }).from(users).orderBy(users.id)).map((user) =>
        JSON.stringify(user),
      );
    const before = await stored();
    for (const { operationId, method, url, fields } of accepting) {
      const { access } = configOf(app, operationId);
      const isNew = fields.has('password') && !operationId.startsWith('update');
      const others = { ...(isNew ? { password } : {}), ...(operationId === 'invite' ? { role } : {}) };
      const headers = access === 'anonymous' ? {} : session;
      for (const email of hostile) {
        const what = `${operationId}: ${JSON.stringify(email).slice(0, 60)}`;
        const start = performance.now();
        const options = { method, url, payload: { email, ...others }, headers };
        const { statusCode } = await request(options as Parameters<typeof request>[0]);
        // A password reset request accepts any text, so that its response reveals nothing.
        const isAccepted = operationId === 'requestPasswordReset' && email.length <= 1024 && statusCode === 204;
        t.ok(isAccepted || statusCode === 400, `${what} ${statusCode}`);
        if (performance.now() - start > 2_000) t.fail(`${what} takes ${performance.now() - start} ms`);
      }
    }
    t.strictSame(await stored(), before, 'no user was created, and no address was changed');
    t.strictSame(await allMails(), [], 'no email was sent');
  },
);

t.test(
  'an email is sent only to the stored address, exactly as it is stored (CVE-2024-27295, GHSA-8xp8-xrh2-88vr)',
  async (t) => {
    const people = {
      'to reset a password': await createUser(app, { email: 'Grace.Hopper@Example.com' }),
      'to verify an address': await createUser(app, { email: 'Ada.Lovelace@Example.com', status: 'unverified' }),
      'to accept an invitation': await createUser(app, { email: 'Edith.Clarke@Example.com', status: 'invited' }),
    };
    const ways: Record<keyof typeof people, (email: string) => ReturnType<typeof post>> = {
      'to reset a password': (email) => post('/auth/password/request', { email }),
      'to verify an address': (email) => post('/users/register', { email, password }),
      'to accept an invitation': (email) => post('/users/invite', { email, role }, administrator.headers),
    };
    for (const [what, send] of Object.entries(ways) as [keyof typeof people, (typeof ways)[keyof typeof people]][]) {
      const { email } = people[what];
      // Letters that some collations treat as equal.
      for (const spelling of [
        email.replace('e', 'é'),
        email.replace('a', 'ä'),
        email.replace('e', 'e\u0301'),
        email.replace('i', 'ı'),
        email.replace('E', 'Ｅ'),
        `${email}.`,
        email.replace('@', ' @'),
      ].filter((other) => other !== email)) {
        await send(spelling);
      }
      t.strictSame(await allMails(), [], `${what}: a similar address is a different address`);
      t.equal((await send(email.toUpperCase())).statusCode, 204);
      const mails = await allMails();
      t.strictSame(
        mails.map(({ to }) => to),
        [email],
        what,
      );
      await app.db.execute('delete from mailbox');
    }
  },
);
