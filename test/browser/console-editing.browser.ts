import t from 'tap';
import { startConsole } from '../helpers/browser/console.js';
import { userPassword } from '../helpers/users/credentials.js';

/** Editing stored values in the console: of a user, of an application, and of the project. */

const { call, signedIn, read } = await startConsole(t);

const ada = { email: 'ada@example.com', password: userPassword, first_name: 'Ada', status: 'active' };
const { id: user } = await call('POST', '/users', ada);
const [first, second] = ['https://shop.example.com/one', 'https://shop.example.com/two'];
const { id: client } = await call('POST', '/clients', { name: 'Shop', type: 'confidential', redirect_uris: [first] });
const { id: role } = await call('POST', '/roles', { name: 'Member' });
await call('POST', '/users/invite', { email: 'invited@example.com', role });

const person = await signedIn();
const { page, open } = person;

const save = async (message: string) => {
  await page.getByRole('button', { name: 'Save' }).first().press('Enter');
  await page.getByText(message).waitFor();
};

t.test('a separator that is typed stays until the next value, and a change can be undone', async (t) => {
  await open(`/console/users/${user}`);
  const tags = page.getByLabel('Tags');
  await tags.pressSequentially('vip, beta tester');
  t.equal(await tags.inputValue(), 'vip, beta tester');
  await save('Ada’s profile was saved.');
  t.strictSame(await read(person, `/users/${user}?fields=tags`), { tags: ['vip', 'beta tester'] });
  await page.getByRole('button', { name: 'Undo' }).press('Enter');
  await page.getByRole('button', { name: 'Undo' }).waitFor({ state: 'detached' });
  t.strictSame(await read(person, `/users/${user}?fields=tags`), { tags: null });
  t.strictSame(person.complaints(), []);
});

t.test('a list with one value on each line accepts another line', async (t) => {
  await open(`/console/applications/${client}`);
  const uris = page.getByLabel('Redirect URIs', { exact: true });
  await uris.press('Control+End');
  await uris.pressSequentially(`\n${second}`);
  await save('Shop was saved.');
  t.strictSame(await read(person, `/clients/${client}?fields=redirect_uris`), { redirect_uris: [first, second] });
  t.strictSame(person.complaints(), []);
});

t.test('what has been entered is kept when the page is loaded again', async (t) => {
  await open('/console/settings');
  const name = page.getByLabel('Project name');
  await name.fill('Acme');
  await page.reload();
  await name.waitFor();
  t.equal(await name.inputValue(), 'Acme');
  await save('Saved: Project.');
  t.strictSame(await read(person, '/settings?fields=project_name'), { project_name: 'Acme' });
  t.strictSame(person.complaints(), []);
});

t.test('an invitation can be sent again from the list and from the user', async (t) => {
  const resend = async () => {
    await page.getByRole('alertdialog').getByRole('button', { name: 'Resend invitation' }).press('Enter');
    await page.getByText('An invitation is on its way to invited@example.com.').waitFor();
  };
  await open('/console/invitations');
  await page.getByRole('button', { name: 'Resend' }).press('Enter');
  await resend();
  await page.getByRole('link', { name: 'invited@example.com' }).press('Enter');
  await page.getByRole('button', { name: 'Actions' }).press('Enter');
  await page.getByRole('menuitem', { name: 'Resend invitation' }).press('Enter');
  await resend();
  t.strictSame(person.complaints(), []);
});
