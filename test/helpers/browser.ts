import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Test } from 'tap';
import type { Service } from './service.js';
import { atEndOf } from './teardown.js';

/** From the Debian package `chromium-headless-shell`, which draws no windows. Set `CHROMIUM` to use another browser. */
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell';

const quiet = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A person with their own browser context and therefore their own cookies. */
export interface Person {
  page: Page;
  context: BrowserContext;
  /** Opens a page of the service and waits until its script has run. */
  open(path: string): Promise<void>;
  /** The errors, warnings, and CSP violations on the console since the last call. */
  complaints(): string[];
  /** The text of the first visible message or fault. */
  said(kind: 'alert' | 'status' | 'fault'): Promise<string>;
}

/** Starts a browser. It is closed when the test ends. */
export async function startBrowser(t: Test): Promise<Browser> {
  const browser = await chromium.launch({ executablePath, args: quiet });
  atEndOf(t, () => browser.close());
  return browser;
}

/**
 * Starts a browser with its own profile that accepts third-party cookies, as most browsers do. Without a profile,
 * Chromium blocks them, including the Debian build. The browser is closed when the test ends.
 */
export async function startProfile(t: Test, args: string[]): Promise<BrowserContext> {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-profile-'));
  mkdirSync(join(directory, 'Default'));
  const preferences = { profile: { cookie_controls_mode: 0, block_third_party_cookies: false } };
  writeFileSync(join(directory, 'Default/Preferences'), JSON.stringify(preferences));
  const context = await chromium.launchPersistentContext(directory, {
    executablePath,
    args: [...quiet, ...args],
    // The CSP of the service's pages would block the calls that the test makes.
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
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  let complaints: string[] = [];
  page.on('console', (message) => {
    // The browser requests an icon some time later, even for a response that is not a page.
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

/** Fills in the login form and submits it. */
export async function signIn({ page, open }: Person, email: string, password: string, path = '/account/login') {
  await open(path);
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Waits for the account page of the signed-in user. */
export async function seesOwnAccount({ page }: Person): Promise<void> {
  await page.waitForURL(/\/account(\/(profile|security|sessions|connections))?(\?|$)/);
  await page.locator('[data-content]').waitFor();
}

/** The address in the account page, which proves whose account it is. */
export const ownEmail = async ({ page }: Person): Promise<string> =>
  (await page.locator('[data-email-value]').textContent()) ?? '';

export type Section = 'profile' | 'security' | 'sessions' | 'connections';

/** Opens a section of the account page. On phones, the list of sections is a screen of its own. */
export async function openSection({ page }: Person, name: Section): Promise<void> {
  const back = page.locator('[data-to=home]');
  if (await back.isVisible()) await back.click();
  await page.locator(`.sections [data-to=${name}]`).click();
  await page.locator(`[data-panel=${name}]`).waitFor();
}

/** Opens the dialog that changes something in the account. */
export async function openDialog(person: Person, section: Section, name: string): Promise<void> {
  await openSection(person, section);
  await person.page.locator(`[data-opens=${name}]:visible`).first().click();
}

/** Changes the first name on the account page. */
export async function changeFirstName(person: Person, name: string): Promise<void> {
  await openDialog(person, 'profile', 'profile');
  await person.page.getByLabel('First name').fill(name);
  await person.page.getByRole('button', { name: 'Save' }).click();
}

/** The `id` of the focused element. */
export const focused = ({ page }: Person): Promise<string> => page.evaluate('document.activeElement?.id ?? ""');

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * The accessibility violations that axe finds on the current page, with the affected elements. Requires `bypassCSP`.
 */
export async function barriers({ page }: Person): Promise<string[]> {
  // While something fades in, its contrast is lower. An animation starts up to two frames after the change that causes it.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
  await page.waitForFunction(`document.getAnimations().every((animation) =>
    animation.playState !== 'running' || animation.effect.getComputedTiming().endTime === Infinity)`);
  await page.evaluate(axeSource);
  return page.evaluate(`axe.run().then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html, failureSummary }) => html + ' ' + failureSummary).join(' | ')))`);
}

/** The visible text of the page. */
export const readable = ({ page }: Person): Promise<string> => page.locator('body').innerText();
