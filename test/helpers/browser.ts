import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Test } from 'tap';
import type { Service } from './service.js';
import { atEndOf } from './teardown.js';

/** Where Debian puts it; `CHROMIUM` says otherwise. */
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';

const quiet = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A person at a browser of their own: no cookies but theirs. */
export interface Person {
  page: Page;
  context: BrowserContext;
  /** Goes to a page of the service, and waits until its script has run. */
  open(path: string): Promise<void>;
  /** What the console has said since this was last asked: errors, warnings, violations of the CSP. */
  complaints(): string[];
  /** The text of the first message or fault that shows. */
  said(kind: 'alert' | 'status' | 'fault'): Promise<string>;
}

/** A browser, closed when the test ends. */
export async function startBrowser(t: Test): Promise<Browser> {
  const browser = await chromium.launch({ executablePath, args: quiet });
  atEndOf(t, () => browser.close());
  return browser;
}

/**
 * A browser with a profile of its own that lets the cookies of third parties through, as most people's does; one without a
 * profile does not, nor does that of Debian. Closed when the test ends.
 */
export async function startProfile(t: Test, args: string[]): Promise<BrowserContext> {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-profile-'));
  mkdirSync(join(directory, 'Default'));
  const preferences = { profile: { cookie_controls_mode: 0, block_third_party_cookies: false } };
  writeFileSync(join(directory, 'Default/Preferences'), JSON.stringify(preferences));
  const context = await chromium.launchPersistentContext(directory, {
    executablePath,
    args: [...quiet, ...args],
    // What is called from our own page is called by no script of ours, which its CSP would not have.
    bypassCSP: true,
  });
  context.setDefaultTimeout(20_000);
  atEndOf(t, async () => {
    await context.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return context;
}

export async function newPerson(
  browser: Browser,
  service: Pick<Service, 'url'>,
  options: BrowserContextOptions = {},
): Promise<Person> {
  const context = await browser.newContext({ baseURL: service.url, locale: 'en-US', ...options });
  context.setDefaultTimeout(10_000);
  const page = await context.newPage();
  let complaints: string[] = [];
  page.on('console', (message) => {
    // What is no page has no icon, for which the browser asks all the same, and some time later.
    if (message.location().url.endsWith('/favicon.ico')) return;
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('response', (response) => {
    const { pathname } = new URL(response.url());
    if (/^\/account(\/|$)/.test(pathname) && response.status() >= 400)
      complaints.push(`${response.status()} ${pathname}`);
  });

  return {
    page,
    context,
    open: async (path) => {
      await page.goto(path);
    },
    complaints: () => {
      const said = complaints;
      complaints = [];
      return said;
    },
    said: async (kind) => {
      const selector = { alert: '[data-alert]', status: '[data-status]', fault: '.fault' }[kind];
      const message = page.locator(`${selector}:not(:empty):visible`).first();
      await message.waitFor();
      return (await message.textContent()) ?? '';
    },
  };
}

/** Fills in the form for signing in, and sends it. */
export async function signIn({ page, open }: Person, email: string, password: string, path = '/account/login') {
  await open(path);
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Waits for the page of who is signed in. */
export async function seesOwnAccount({ page }: Person): Promise<void> {
  await page.waitForURL(/\/account(\?|$)/);
  await page.locator('[data-content]').waitFor();
}

/** The `id` of the element that has the focus. */
export const focused = ({ page }: Person): Promise<string> => page.evaluate('document.activeElement?.id ?? ""');

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds on the page as it stands: each barrier with the elements that it is at. Needs `bypassCSP`. */
export async function barriers({ page }: Person): Promise<string[]> {
  await page.evaluate(axeSource);
  return page.evaluate(`axe.run().then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html, failureSummary }) => html + ' ' + failureSummary).join(' | ')))`);
}

/** The text that people can read on the page. */
export const readable = ({ page }: Person): Promise<string> => page.locator('body').innerText();
