import t from 'tap';
import {
  newPerson,
  nextFrames,
  openDialog,
  ownEmail,
  signIn,
  startBrowser,
  waitForOwnAccount,
} from '../helpers/browser/browser.js';
import { createHome, startService } from '../helpers/service/service.js';
import { createUserOverHttp, variables } from '../helpers/users/over-http.js';

const service = await startService(await createHome(t, { prepared: true }), {
  ...variables,
  MAILBOX_KEY: 'the-key-of-the-mailbox',
});
const browser = await startBrowser(t);

interface Mail {
  to: string;
  text: string;
}

/** The link with a token in the latest email to an address. */
async function linkTo(address: string): Promise<string> {
  const key = encodeURIComponent('the-key-of-the-mailbox');
  for (let tries = 0; tries < 100; tries++) {
    const { data } = (await (await service.get(`/mailbox?key=${key}`, { accept: 'application/json' })).json()) as {
      data: Mail[];
    };
    const link = /https?:\/\/\S*[?&]token=\S+/.exec(data.find(({ to }) => to === address)?.text ?? '')?.[0];
    if (link) return new URL(link).pathname + new URL(link).search;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`No email with a link has arrived for ${address}.`);
}

async function requests(user: { email: string; password: string }, email: string) {
  const login = await service.post('/auth/login', { email: user.email, password: user.password });
  const { data } = (await login.json()) as { data: { access_token: string } };
  const headers = { authorization: `Bearer ${data.access_token}` };
  t.equal((await service.post('/users/me/email', { email }, headers)).status, 204);
}

t.test('a new address is confirmed with the button, not by opening the link', async (t) => {
  const user = await createUserOverHttp(service);
  await requests(user, 'new-address@example.org');
  const person = await newPerson(browser, service);
  await signIn(person, user.email, user.password);
  await waitForOwnAccount(person);
  const link = await linkTo('new-address@example.org');
  t.equal((await service.get(link)).status, 200, 'a link scanner opens it');
  await person.open(link);
  t.notMatch(person.page.url(), 'token', 'the token is not in the address bar');
  t.equal(await person.page.locator('[data-whose]').textContent(), 'new-address@example.org');
  await person.page.getByRole('button', { name: 'Confirm' }).click();
  await person.page.getByRole('heading', { name: 'Email address changed' }).waitFor();
  await person.open('/account');
  await waitForOwnAccount(person);
  t.equal(await ownEmail(person), 'new-address@example.org');
  t.strictSame(person.complaints(), []);
  await person.open(link);
  await person.page.getByText('The link has already been used').waitFor();
  t.equal(await person.page.getByRole('button', { name: 'Confirm' }).isVisible(), false);
});

t.test('users can request a new address on their account page, and cancel the request', async (t) => {
  const user = await createUserOverHttp(service);
  const person = await newPerson(browser, service);
  const { page } = person;
  const section = page.getByRole('region', { name: 'Profile' });
  const request = async (email: string) => {
    await page.getByLabel('New email address').fill(email);
    await page.getByRole('button', { name: 'Continue' }).click();
  };
  await signIn(person, user.email, user.password);
  await waitForOwnAccount(person);
  t.equal(await section.getByRole('button', { name: 'Cancel the change' }).count(), 0);
  await openDialog(person, 'profile', 'email');
  await request('nonsense');
  t.match(await person.said('fault'), 'Enter an email address');
  await request('withdrawn@example.org');
  t.equal(await person.said('status'), 'We sent a link to withdrawn@example.org.');
  await nextFrames(person);
  t.equal(await page.locator('#new-email').inputValue(), '');
  await person.open('/account');
  await waitForOwnAccount(person);
  await section.getByText('withdrawn@example.org is waiting for confirmation.').waitFor();
  await section.getByRole('button', { name: 'Cancel the change' }).click();
  t.match(await person.said('status'), 'The change was canceled.');
  t.equal(await section.getByRole('button', { name: 'Cancel the change' }).count(), 0);
  await openDialog(person, 'profile', 'email');
  await request(user.email.toUpperCase());
  await page.getByText('This is already your email address.').waitFor();

  await openDialog(person, 'profile', 'email');
  await request('requested@example.org');
  await section.getByText('requested@example.org is waiting').waitFor();
  await person.open(await linkTo('requested@example.org'));
  await page.getByRole('button', { name: 'Confirm' }).click();
  await page.getByRole('link', { name: 'Go to your account' }).click();
  await waitForOwnAccount(person);
  t.equal(await ownEmail(person), 'requested@example.org');
  t.equal(await section.getByRole('button', { name: 'Cancel the change' }).count(), 0);
  t.strictSame(person.complaints(), []);
});

t.test('a link to the old address cancels the change without signing in', async (t) => {
  const user = await createUserOverHttp(service);
  await requests(user, 'planted@example.org');
  const person = await newPerson(browser, service);
  await person.open(await linkTo(user.email));
  await person.page.getByRole('button', { name: 'Cancel the change' }).click();
  await person.page.getByRole('heading', { name: 'Change canceled' }).waitFor();
  t.strictSame(person.complaints(), []);
  await person.open(await linkTo('planted@example.org'));
  await person.page.getByText('the change was canceled').waitFor();
});
