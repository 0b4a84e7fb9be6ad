import t from 'tap';
import { settings } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, patch, remove, startWithAdmin } from '../helpers/http/writing.js';
import { tokenFor } from '../helpers/mail/mails.js';
import { minute } from '../helpers/service/clock.js';
import { createRole } from '../helpers/users/rights.js';
import { createUser } from '../helpers/users/users.js';

const service = await startWithAdmin(t, { REGISTRATION_ANSWER_TIME: '1ms' });
const { app, clock, post, get } = service;
const role = await createRole(app);
await app.db.update(settings).set({ publicRegistration: true });

const statuses = ['draft', 'invited', 'unverified', 'active', 'suspended', 'archived'] as const;
const password = 'an entirely new password';
let count = 0;
const newAddress = () => `link-${++count}@example.com`;

const idOf = async (email: string): Promise<string> =>
  (await get(`/users?filter[email][_eq]=${email}&fields=id`, asAdmin)).json().data[0].id;

/** Each kind of link: the user status in which it works, how to request it, and how to use it. */
const kinds = {
  invitation: {
    status: 'invited',
    refusal: 'INVALID_INVITE',
    send: async () => {
      const email = newAddress();
      await post('/users/invite', { email, role }, asAdmin);
      return email;
    },
    use: (token: string) => post('/users/invite/accept', { token, password }),
  },
  reset: {
    status: 'active',
    refusal: 'FORBIDDEN',
    send: async () => {
      // Without a password, because a restored password would have a different hash.
      const { email } = await createUser(app, { email: newAddress(), password: null });
      await post('/auth/password/request', { email });
      return email;
    },
    use: (token: string) => post('/auth/password/reset', { token, password }),
  },
  registration: {
    status: 'unverified',
    refusal: 'INVALID_PAYLOAD',
    send: async () => {
      const email = newAddress();
      await post('/users/register', { email, password });
      return email;
    },
    use: (token: string) => get(`/users/register/verify-email?token=${token}`),
  },
} as const;

for (const [kind, { status, refusal, send, use }] of Object.entries(kinds)) {
  const sent = async () => {
    const email = await send();
    return { email, token: await tokenFor(app, email), url: `/users/${await idOf(email)}` };
  };
  const written = async (url: string, data: object) => {
    const answer = await patch(service, url, data);
    if (answer.statusCode !== 200) throw new Error(`PATCH ${JSON.stringify(data)}: ${answer.body}`);
  };

  t.test(`${kind}: a link works as long as the user’s status and credentials do not change`, async (t) => {
    const { token, url } = await sent();
    await written(url, { first_name: 'Ada', role: null });
    t.equal((await use(token)).statusCode, 204);
  });

  t.test(`${kind}: a link never works again after a change of status, even if it is reverted`, async (t) => {
    for (const other of statuses.filter((name) => name !== status)) {
      const { token, url } = await sent();
      await written(url, { status: other });
      refused(t, await use(token), refusal, other);
      await written(url, { status });
      refused(t, await use(token), refusal, `${other}, then ${status} again`);
    }
  });

  t.test(`${kind}: a link never works again after a change of credentials, even if it is reverted`, async (t) => {
    const changes: Record<string, [object, (email: string) => object]> = {
      address: [{ email: newAddress() }, (email) => ({ email })],
      provider: [{ provider: 'elsewhere' }, () => ({ provider: 'default' })],
      ...(kind === 'registration' ? {} : { password: [{ password: 'another password' }, () => ({ password: null })] }),
    };
    for (const [what, [change, back]] of Object.entries(changes)) {
      const { email, token, url } = await sent();
      await written(url, change);
      await written(url, back(email));
      refused(t, await use(token), refusal, what);
    }
  });

  t.test(`${kind}: a link never works again after the user is deleted, even if the id is used again`, async (t) => {
    const { email, token, url } = await sent();
    t.equal((await remove(service, url)).statusCode, 204);
    refused(t, await use(token), refusal, 'deleted');
    clock.advance(minute);
    const again = await post('/users', { id: url.split('/').at(-1), email, status }, asAdmin);
    t.equal(again.statusCode, 200, again.body);
    refused(t, await use(token), refusal, 'created again');
  });
}
