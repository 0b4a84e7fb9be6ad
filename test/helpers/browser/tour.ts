import type { FastifyInstance } from 'fastify';
import { linkTo } from '../mail/mails.js';
import { minute, type TestClock } from '../service/clock.js';
import { pagePaths } from '../service/pages.js';
import type { Service } from '../service/service.js';
import { asAdministrator } from '../users/over-http.js';
import { currentCode } from '../users/totp.js';
import { createUser } from '../users/users.js';
import {
  addAuthenticator,
  openDialog,
  openSection,
  type Person,
  type Section,
  sections,
  signIn,
  waitForOwnAccount,
} from './browser.js';

/** Pages that need no account, in states other than that of their path. The links are those in emails, with an invalid token. */
const visitorStates = [
  '/account/login?reason=INVALID_CREDENTIALS',
  '/account/login?notice=signed-out',
  '/account/reset-password?token=x',
  '/account/accept-invite?token=x',
  '/account/verify-email?token=x',
  '/account/confirm-email?token=x',
  '/account/cancel-email-change?token=x',
  '/account/email-login?token=x',
  '/account/not-me?token=x',
  '/account/verified?reason=TOKEN_EXPIRED',
];

/** The pages that need no account, in every state that a URL can open. */
export const visitorPages = (app: FastifyInstance): string[] => [...pagePaths(app).visitor, ...visitorStates];

/** The dialogs that buttons of a section open. */
export const dialogsIn = ({ page }: Person, section: Section): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('[data-panel=${section}] [data-opens]')]
    .filter((button) => button.checkVisibility()).map((button) => button.dataset.opens)`);

/** Submits the visible form empty, so that all of its error messages appear. @returns whether there is one */
export async function sendEmpty({ page }: Person): Promise<boolean> {
  const dialogs = page.locator('dialog[open]');
  const root = (await dialogs.count()) > 0 ? dialogs.last() : page.locator('main');
  const submit = root.locator('form:visible:has(input:visible) button[type=submit]').first();
  const hasForm = (await submit.count()) > 0;
  if (hasForm) await submit.click();
  return hasForm;
}

interface Toured extends Pick<Service, 'url' | 'post'> {
  app: FastifyInstance;
  clock: TestClock;
}

const newPassword = 'a calm meadow in autumn';

/**
 * Visits every page under `/account`, in every state, and opens every dialog. The service must offer everything: registration,
 * sign-in by email, a provider, and account deletion.
 * @param look called for each state
 */
export async function tour(service: Toured, person: Person, look: (state: string) => Promise<void>): Promise<void> {
  const { page, open } = person;
  const { app, clock } = service;
  const respond = await addAuthenticator(person);
  const shows = (selector: string) => page.locator(selector).waitFor();
  const press = (selector: string) => page.locator(`${selector}:visible`).first().click();
  const fill = (selector: string, value: string) => page.locator(selector).fill(value);
  const close = () => page.keyboard.press('Escape');
  const openLink = async (email: string, path: string) => open(await linkTo(app, path, email));
  const lookAtFaults = async (state: string) => {
    if (await sendEmpty(person)) await look(`${state}, with faults`);
  };
  const lookThrough = async (state: string) => {
    await look(state);
    await lookAtFaults(state);
  };

  for (const path of visitorPages(app)) {
    await open(path);
    await lookThrough(path);
  }
  await open('/account/not-found');
  await look('an unknown page');

  const visitor = 'visitor@example.com';
  await open('/account/register');
  await fill('#email', visitor);
  await fill('#password', newPassword);
  await press('[type=submit]');
  await shows('[data-part=done]');
  await look('registered');
  await openLink(visitor, 'verify-email');
  await shows('[data-part=form]');
  await look('the link of a registration');
  await page.context().clearCookies();
  await openLink(visitor, 'verify-email');
  await shows('#password');
  await lookThrough('the link of a registration in another browser');

  const call = await asAdministrator(service);
  const invited = 'invited@example.com';
  const { id: role } = await call('POST', '/roles', { name: 'Invited' });
  await call('POST', '/users/invite', { email: invited, role });
  await openLink(invited, 'accept-invite');
  await shows('#password');
  await lookThrough('an invitation');
  await fill('#password', newPassword);
  await press('[type=submit]');
  await waitForOwnAccount(person);
  await shows('[data-dialog=profile][open]');
  await look('after an invitation');
  await close();
  await press('[data-sign-out]');
  await page.waitForURL(/login/);

  const { email } = await createUser(app, { firstName: 'Ada', lastName: 'Lovelace' });
  await open('/account/forgot-password');
  await fill('#email', email);
  await press('[type=submit]');
  await shows('[data-part=done]');
  await look('a password reset was requested');
  await openLink(email, 'reset-password');
  await shows('#password');
  await lookThrough('the link of a password reset');
  await fill('#password', newPassword);
  await press('[type=submit]');
  await waitForOwnAccount(person);
  await shows('[data-passkey-suggestion]');
  await look('the account, with a suggestion');

  let finishLoading = () => {};
  await page.route('**/users/me/profile', async (route) => {
    await new Promise<void>((resolve) => {
      finishLoading = resolve;
    });
    await route.continue();
  });
  for (const section of sections) {
    await open(`/account/${section}`);
    await shows('[data-content][aria-busy]');
    await look(`${section}, while it is loading`);
    finishLoading();
    await waitForOwnAccount(person);
  }
  await page.unroute('**/users/me/profile');
  for (const path of pagePaths(app).signedInElsewhere) {
    await open(path);
    await lookThrough(path);
  }
  await open('/account');
  await waitForOwnAccount(person);

  const lookAtSections = async (state: string) => {
    for (const section of sections) {
      await openSection(person, section);
      await look(`${section}, ${state}`);
      for (const name of await dialogsIn(person, section)) {
        await openDialog(person, section, name);
        await lookThrough(`${name}, ${state}`);
        await close();
      }
    }
  };
  await lookAtSections('at first');

  await openSection(person, 'security');
  await press('[data-passkey-add]');
  await shows('[data-passkeys] li:last-child');
  await respond(false);
  await look('a passkey');
  await press('[data-rename]');
  await look('a new name for a passkey');
  await fill('#passkey-name', '');
  await lookAtFaults('a new name for a passkey');
  await close();
  await press('[data-remove]');
  await look('removing a passkey');
  await close();

  await openDialog(person, 'security', 'tfa-setup');
  await fill('#tfa-password', newPassword);
  await press('#tfa-begin [type=submit]');
  await shows('.qr-code svg');
  await lookThrough('the QR code');
  const secret = (await page.locator('[data-secret]').textContent()) ?? '';
  await fill('#tfa-code', currentCode(secret, clock.now()));
  await shows('[data-codes] li:last-child');
  await look('recovery codes');
  await press('[data-codes-saved]');
  await press('[data-codes-done]');
  await service.post('/auth/login', { email, password: newPassword });

  const another = 'another@example.com';
  const requestEmail = async () => {
    await openDialog(person, 'profile', 'email');
    await fill('#new-email', another);
    await press('#email-form [type=submit]');
    await shows('[data-pending-email]:not(:empty)');
  };
  await requestEmail();
  await look('a new address');
  await openLink(email, 'cancel-email-change');
  await look('the link that cancels a new address');
  await press('[type=submit]');
  await shows('[data-part=done]');
  await look('canceled a new address');
  await open('/account/profile');
  await waitForOwnAccount(person);
  await requestEmail();
  await openLink(another, 'confirm-email');
  await look('the link that confirms a new address');
  await press('[type=submit]');
  await shows('[data-part=done]');
  await look('confirmed a new address');

  await open('/account');
  await waitForOwnAccount(person);
  await lookAtSections('protected');
  await openSection(person, 'profile');
  await press('[data-delete]');
  await look('deleting the account');
  await close();

  clock.advance(16 * minute);
  await openDialog(person, 'security', 'password');
  await fill('#new-password', 'another calm meadow in autumn');
  await press('#password-form [type=submit]');
  await shows('[data-dialog=proof][open]');
  await lookThrough('a confirmation');
  await close();
  await close();

  await page.context().clearCookies();
  await signIn(person, another, newPassword);
  await shows('#otp');
  await lookThrough('the code of a login');

  await signIn(person, another, 'not the password');
  await shows('[data-help-reset]');
  await look('a wrong password, after a sign-in');

  await open('/account/login');
  await fill('#email', another);
  await press('[data-email-code]');
  await shows('#email-code-field');
  await lookThrough('a code by email');
  await openLink(another, 'email-login');
  await look('the link of a sign-in email');
  await press('[type=submit]');
  await shows('#otp');
  await look('the link of a sign-in email, with two-factor authentication');

  await openLink(email, 'not-me');
  await look('the link of a security notice');
  await press('[type=submit]');
  await shows('[data-part=done]');
  await look('signed out everywhere');
}
