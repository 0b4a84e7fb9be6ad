/** Starts the API reference at `/docs`. */
declare const Scalar: { createApiReference(selector: string, configuration: object): void };

type PathItem = Record<string, unknown>;
interface Description {
  paths: Record<string, PathItem>;
}

const page = document.querySelector<HTMLElement>('#app');
const send = window.fetch.bind(window);
/** The access token of the last login on this page. Only in memory, so it is gone when the page is closed. */
let token: string | undefined;

const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.content ?? '';
const createElement = document.createElement.bind(document);
/** Scalar creates some style sheets without the nonce that the Content-Security-Policy requires. */
document.createElement = (name: string, options?: ElementCreationOptions) => {
  const element = createElement(name, options);
  if (element instanceof HTMLStyleElement) element.nonce = nonce;
  return element;
};

/** Sends requests with the token of the last login, unless they have other credentials. */
window.fetch = async (input, init) => {
  const request = new Request(input, init);
  const { pathname, origin } = new URL(request.url);
  const isOurs = origin === location.origin;
  if (isOurs && token !== undefined && !request.headers.has('authorization'))
    request.headers.set('authorization', `Bearer ${token}`);
  const response = await send(request);
  if (isOurs && response.ok && /\/auth\/(login|refresh)$/.test(pathname)) {
    const { data } = (await response.clone().json()) as { data: { access_token?: string } };
    token = data.access_token;
  } else if (isOurs && pathname.endsWith('/auth/logout')) token = undefined;
  return response;
};

/** Moves SEARCH to where OpenAPI 3.2 has it, because the page shows methods that are there, also in a document of version 3.1. */
function showSearch(description: Description): Description {
  for (const path of Object.values(description.paths)) {
    const { 'x-search': search } = path;
    if (search === undefined) continue;
    delete path['x-search'];
    path.additionalOperations = { SEARCH: search };
  }
  return description;
}

/** What the page lacks for users of screen readers: attributes to set, or to remove (null). */
const corrections: [selector: string, attribute: string, value: string | null][] = [
  ['button[class*=copy-button]:not([aria-label])', 'aria-label', 'Copy'],
  ['input[role=combobox]:not([aria-expanded])', 'aria-expanded', 'true'],
  ['[role=combobox]:not([aria-expanded])', 'aria-expanded', 'false'],
  ['.cm-content:not([aria-label])', 'aria-label', 'Request body'],
  ['button[role=none]', 'role', null],
  ['section[aria-live][aria-label]', 'aria-label', null],
  // Sections that have the same name must not be landmarks.
  ['section.contents[aria-labelledby]', 'aria-labelledby', null],
];

function improveAccessibility(): void {
  for (const [selector, attribute, value] of corrections) {
    for (const element of document.querySelectorAll(selector)) {
      if (value === null) element.removeAttribute(attribute);
      else element.setAttribute(attribute, value);
    }
  }
}

// Scalar is loaded after this script.
const loaded = new Promise((resolve) => addEventListener('load', resolve));
const description = (await (await send(page?.dataset.document ?? '')).json()) as Description;
await loaded;
new MutationObserver(improveAccessibility).observe(document.body, { childList: true, subtree: true });
Scalar.createApiReference('#app', {
  content: showSearch(description),
  // The page contacts no other host.
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
});

export {};
