import { messageOf } from './gatehouse.js';

/**
 * An element of the page that must exist.
 * @template {HTMLElement} [E=HTMLElement]
 * @param {string} selector
 * @returns {E}
 */
export function find(selector) {
  const element = /** @type {E | null} */ (document.querySelector(selector));
  if (!element) throw new Error(`The page has no ${selector}.`);
  return element;
}

/**
 * Shows one part of the page and hides the others. Fields in a hidden part are disabled, so the browser ignores them.
 * @param {string} name
 */
export function showPart(name) {
  for (const part of document.querySelectorAll('[data-part]')) {
    if (!(part instanceof HTMLElement)) continue;
    part.hidden = part.dataset.part !== name;
    if (part instanceof HTMLFieldSetElement) part.disabled = part.hidden;
  }
  const part = find(`[data-part="${name}"]`);
  /** @type {HTMLElement | null} */ (part.querySelector('input, h2'))?.focus();
}

/** @param {string} text */
export function showAlert(text) {
  find('[role=alert]').textContent = text;
}

/**
 * Runs an action, one at a time, and shows what went wrong.
 * @param {HTMLFormElement | HTMLButtonElement} element
 * @param {() => Promise<void>} action
 */
async function run(element, action) {
  if (element.ariaBusy === 'true') return;
  element.ariaBusy = 'true';
  showAlert('');
  try {
    await action();
  } catch (error) {
    showAlert(messageOf(error));
  } finally {
    element.ariaBusy = null;
  }
}

/**
 * Handles a form by script. The browser checks the fields before it submits the form.
 * @param {(values: Record<string, string>) => Promise<void>} action
 */
export function onSubmit(action) {
  const form = /** @type {HTMLFormElement} */ (find('form'));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const values = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]));
    run(form, () => action(values));
  });
}

/**
 * @param {string} selector
 * @param {() => Promise<void>} action
 */
export function onClick(selector, action) {
  const button = /** @type {HTMLButtonElement} */ (find(selector));
  button.addEventListener('click', () => run(button, action));
}

/**
 * Returns the token of the link that opened the page, and removes it from the address bar. It is kept for a reload. Without
 * a token, the page says that the link cannot be used.
 */
export function takeToken() {
  const token = new URLSearchParams(location.search).get('token') ?? history.state ?? '';
  history.replaceState(token, '', location.pathname);
  if (token === '') showPart('dead');
  return token;
}
