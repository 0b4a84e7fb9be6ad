import { setTimeout as sleep } from 'node:timers/promises';
import { findLink } from '../mail/mails.js';
import type { Service } from '../service/service.js';
import type { Person } from './browser.js';

/** What the tests of the example applications do in a browser. */

export const mailboxKey = 'the-key-of-the-mailbox';

interface Mail {
  to: string;
  text: string;
}

/** The links in the emails to an address, newest first, as soon as there are this many. */
export async function linksTo(service: Service, email: string, count = 1): Promise<string[]> {
  for (let tries = 0; tries < 100; tries++) {
    const response = await fetch(`${service.url}/mailbox?key=${mailboxKey}`);
    const { data } = (await response.json()) as { data: Mail[] };
    const links = data.filter(({ to }) => to === email).flatMap((mail) => findLink(mail) ?? []);
    if (links.length >= count) return links;
    await sleep(100);
  }
  throw new Error(`There are not ${count} emails to ${email}.`);
}

export const alertOf = async ({ page }: Person): Promise<string> => {
  const alert = page.locator('[role=alert]:not(:empty):not(#__next-route-announcer__)');
  await alert.waitFor();
  return alert.innerText();
};

export const press = ({ page }: Person, name: string) => page.getByRole('button', { name, exact: true }).click();
export const follow = ({ page }: Person, name: string) => page.getByRole('link', { name }).click();
export const sees = ({ page }: Person, name: string | RegExp) => page.getByRole('heading', { name }).waitFor();

/** The cookies of a browser, as a header. */
export const cookieHeader = async ({ context }: Person): Promise<string> =>
  (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');

export async function signIn(person: Person, email: string, password: string, path = '/sign-in'): Promise<void> {
  await person.open(path);
  await person.page.getByLabel('Email address').fill(email);
  await person.page.getByLabel('Password').fill(password);
  await press(person, 'Sign in');
}
