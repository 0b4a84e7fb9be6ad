import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Test } from 'tap';
import { atEndOf } from '../runner/teardown.js';
import type { Service } from '../service/service.js';

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
  /** The errors, warnings, and CSP violations on the console, and the requests of the account pages and of the console to other hosts, since the last call. */
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
 * Chromium, including the Debian build, blocks them. The browser is closed when the test ends.
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
  const { origin } = new URL(service.url);
  page.on('request', (request) => {
    const { protocol, origin: target } = new URL(request.url());
    const isOwnPage = ['/account', '/console'].some((path) => page.url().startsWith(`${origin}${path}`));
    if (!isOwnPage || request.isNavigationRequest() || protocol === 'data:' || target === origin) return;
    complaints.push(`a request to ${target}`);
  });
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

export interface Device {
  /** Whether it has a screen lock, a fingerprint reader, or the like. Default: true. */
  hasLock?: boolean;
  /** Whether it says that it has verified the user, which a security key without a PIN does not. Default: true. */
  verifies?: boolean;
}

/**
 * Adds a virtual authenticator to the person's device, which confirms everything immediately.
 * @returns a function that turns the confirmations off, as if the user did not respond, and on again
 */
export async function addAuthenticator({ context, page }: Person, { hasLock = true, verifies = true }: Device = {}) {
  const session = await context.newCDPSession(page);
  await session.send('WebAuthn.enable');
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: hasLock,
      isUserVerified: hasLock,
      automaticPresenceSimulation: true,
    },
  });
  // Without a lock, Chromium would not let the virtual authenticator sign in.
  if (!verifies) await session.send('WebAuthn.setResponseOverrideBits', { authenticatorId, isBadUV: true });
  return async (enabled: boolean): Promise<void> => {
    await session.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled });
  };
}

/** Fills in the login form and submits it. */
export async function signIn({ page, open }: Person, email: string, password: string, path = '/account/login') {
  await open(path);
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Waits until a form has finished what it does. Its button is busy, and not the form itself. */
export const waitForForm = ({ page }: Person, form: string) =>
  page.locator(`${form} [type=submit]:not([aria-busy])`).waitFor();

/** Waits for the account page of the signed-in user. */
export async function waitForOwnAccount({ page }: Person): Promise<void> {
  await page.waitForURL(/\/account(\/(profile|security|sessions|connections|applications))?(\?|$)/);
  await page.locator('[data-content]:not([aria-busy])').waitFor();
}

/** The address in the account page, which proves whose account it is. */
export const ownEmail = async ({ page }: Person): Promise<string> =>
  (await page.locator('[data-email-value]').textContent()) ?? '';

/** The sections of the account page. */
export const sections = ['profile', 'security', 'sessions', 'connections', 'applications'] as const;
export type Section = (typeof sections)[number];

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

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Waits for two frames. Browsers fire the event `close` of a dialog, which clears its form, with the next frame. */
export async function nextFrames({ page }: Person): Promise<void> {
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
}

/** The accessibility violations that axe finds on the current page, with the affected elements. */
export async function accessibilityViolations(person: Person): Promise<string[]> {
  const { page } = person;
  // While something fades in, its contrast is lower. An animation starts up to two frames after the change that causes it.
  await nextFrames(person);
  await page.evaluate(`Promise.allSettled(document.getAnimations()
    .filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity)
    .map(({ finished }) => finished)).then(() => null)`);
  await page.evaluate(axeSource);
  return page.evaluate(`axe.run().then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html, failureSummary }) => html + ' ' + failureSummary).join(' | ')))`);
}

/** The `id` of the focused element. */
export const focused = ({ page }: Person): Promise<string> => page.evaluate('document.activeElement?.id ?? ""');

/**
 * The visible controls that the Tab key does not reach, or that do not show that they have the focus. If a dialog is open, only
 * those in the dialog.
 */
export async function unreachableControls({ page }: Person): Promise<string[]> {
  const controls = await page.evaluate<string[]>(`(() => {
    const root = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document;
    globalThis.controls = [...root.querySelectorAll('a[href], button, input, select')]
      .filter((control) => !control.disabled && !control.closest('[inert]') && control.checkVisibility({ visibilityProperty: true }));
    return controls.map((control) => control.outerHTML.slice(0, 150));
  })()`);
  const reached = new Set<number>();
  // After the last control, the focus is outside the page for one or two steps.
  for (let steps = 0; steps < controls.length + 4 && reached.size < controls.length; steps++) {
    await page.keyboard.press('Tab');
    reached.add(
      await page.evaluate(`getComputedStyle(document.activeElement).outlineStyle === 'none' ? -1
        : controls.indexOf(document.activeElement)`),
    );
    reached.delete(-1);
  }
  return controls.filter((_, index) => !reached.has(index));
}

/** What stands out only by its background, which forced colors remove. */
export async function invisibleInForcedColors({ page }: Person): Promise<string[]> {
  await page.emulateMedia({ forcedColors: 'none' });
  await page.evaluate(`(() => {
    const groundOf = (element) => {
      const { backgroundColor: color } = getComputedStyle(element);
      return /rgba\\(.*, 0\\)|\\/ 0\\)/.test(color) && element.parentElement ? groundOf(element.parentElement) : color;
    };
    globalThis.shapes = [...document.body.querySelectorAll('*')].filter((element) => {
      const { width, height } = element.getBoundingClientRect();
      const isVisible = width > 1 && height > 1 && element.checkVisibility({ visibilityProperty: true });
      return isVisible && groundOf(element) !== groundOf(element.parentElement);
    });
  })()`);
  await page.emulateMedia({ forcedColors: 'active' });
  // A message may have disappeared in the meantime.
  return page.evaluate(`shapes.filter((element) => element.clientHeight > 1).filter((element) => {
    const style = getComputedStyle(element);
    return style.outlineStyle === 'none' && style.forcedColorAdjust !== 'none' &&
      ['Top', 'Bottom'].every((side) => style['border' + side + 'Style'] === 'none' || style['border' + side + 'Width'] === '0px');
  }).map((element) => element.outerHTML.slice(0, 150))`);
}

/** Saves a screenshot in the folder named by `SHOTS`, if it is set. */
export async function saveScreenshot({ page }: Person, name: string): Promise<void> {
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${name}.png`, fullPage: true });
}

/** The cookies of a browser, except the one by which the service recognizes the browser. That one gives no access, and stays after a logout. */
export const cookiesOf = async ({ context }: Person, ...urls: string[]) =>
  (await context.cookies(urls)).filter(({ name }) => !name.endsWith('gatehouse_known_browser'));

/** The visible text of the page. */
export const visibleText = ({ page }: Person): Promise<string> => page.locator('body').innerText();
