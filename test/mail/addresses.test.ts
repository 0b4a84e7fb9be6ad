import t from 'tap';
import { readMailbox } from '../../db/queries/mail/mailbox.js';
import { settings, users } from '../../db/schema.js';
import { startTestApp } from '../helpers/app.js';
import { mailsTo } from '../helpers/mails.js';
import { allOperations, configOf } from '../helpers/operations.js';
import { createPolicy, createRole, createUser } from '../helpers/records.js';
import { tokenHolder } from '../helpers/rights.js';
import { openSession } from '../helpers/sessions.js';

/** Which addresses there are, and where mails go: the same on every operation that takes an address. */

const service = await startTestApp(t, { REGISTRATION_ANSWER_TIME: '1ms' });
const { app, post, request } = service;
await app.db.update(settings).set({ publicRegistration: true });
const administrator = await tokenHolder(app, { policies: [await createPolicy(app, { adminAccess: true })] });
// A static token may not change the address of its own user.
const session = await openSession(app, administrator.id);
const role = await createRole(app);
const password = 'a password that is long enough';

const taking = allOperations({ id: administrator.id }).filter(({ fields }) => fields.has('email'));

/** All mails that were sent. */
async function allMails() {
  await mailsTo(app, '');
  return readMailbox(app.db);
}

const evil = 'victim@evil.example';
const hostile = [
  // Several addresses, to those who split them.
  `victim@example.com,${evil}`,
  `victim@example.com, ${evil}`,
  `victim@example.com;${evil}`,
  `victim@example.com ${evil}`,
  `${evil},victim@example.com`,
  `group: ${evil}, victim@example.com;`,
  // One address to some parsers, and another to others.
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
  // What becomes another address when it is brought into one form.
  'victim＠evil.example',
  'victim﹫evil.example@example.com',
  'ｖictim@example.com',
  'victim@exampⅼe.com',
  'victim@example。com',
  'víctim@example.com',
  'victim@example.com\u200b',
  'vi\u00adctim@example.com',
  // Lines of a mail's head, and of a conversation with a server.
  `victim@example.com\r\nBcc: ${evil}`,
  `victim@example.com\nRCPT TO:<${evil}>`,
  'victim@example.com\r\n.\r\nQUIT\r\n',
  'victim@example.com\u0085x',
  ' victim@example.com',
  'victim@example.com\t',
  // What keeps a parser busy.
  `${'('.repeat(50_000)}victim@example.com`,
  `${'"'.repeat(50_001)}@example.com`,
  `${'a:'.repeat(30_000)}victim@example.com`,
  `${'<'.repeat(50_000)}victim@example.com`,
  `victim@${'a-'.repeat(30_000)}`,
  `victim@${'a.'.repeat(60)}!`,
];

t.test(
  'what is no single address is none anywhere (CVE-2022-35924, GHSA-7rqj-j65f-68wh, CVE-2025-13033, CVE-2025-14874, GHSA-vvjj-xcjg-gr5g)',
  async (t) => {
    t.strictSame(
      taking.map(({ operationId }) => operationId).sort(),
      [
        'checkPassword',
        'createUsers',
        'invite',
        'login',
        'register',
        'requestEmailChange',
        'requestPasswordReset',
        'resendVerification',
        'updateMe',
        'updateUser',
      ].sort(),
    );
    // Somebody whom a careless parser would find.
    await createUser(app, { email: 'victim@example.com' });
    await createUser(app, { email: evil });
    const stored = async () =>
      (await app.db.select({ id: users.id, email: users.email }).from(users).orderBy(users.id)).map((user) =>
        JSON.stringify(user),
      );
    const before = await stored();
    for (const { operationId, method, url, fields } of taking) {
      const { access } = configOf(app, operationId);
      const isNew = fields.has('password') && !operationId.startsWith('update');
      const others = { ...(isNew ? { password } : {}), ...(operationId === 'invite' ? { role } : {}) };
      const headers = access === 'anonymous' ? {} : session;
      for (const email of hostile) {
        const what = `${operationId}: ${JSON.stringify(email).slice(0, 60)}`;
        const start = performance.now();
        const options = { method, url, payload: { email, ...others }, headers };
        const { statusCode } = await request(options as Parameters<typeof request>[0]);
        // To ask for a new password one may type what one likes.
        const isTaken = operationId === 'requestPasswordReset' && email.length <= 1024 && statusCode === 204;
        t.ok(isTaken || statusCode === 400, `${what} ${statusCode}`);
        if (performance.now() - start > 2_000) t.fail(`${what} takes ${performance.now() - start} ms`);
      }
    }
    t.strictSame(await stored(), before, 'nobody was made, and nobody has another address');
    t.strictSame(await allMails(), [], 'and no mail was sent');
  },
);

t.test(
  'a mail goes to the address that is stored, and to no other (CVE-2024-27295, GHSA-8xp8-xrh2-88vr)',
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
      // Letters that some collations take for the same.
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
      t.strictSame(await allMails(), [], `${what}: another address is another`);
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
