/** A request that an attacker tries to make a browser send to the service with its cookies. */
export interface ForgedRequest {
  path: string;
  body: Readonly<Record<string, string>>;
}

/**
 * The ways in which a page can send a request without a CORS preflight, such as forms in hidden frames, `fetch`, and
 * beacons, with the content type that the service receives.
 */
export const sendMethods = {
  'form, urlencoded': 'application/x-www-form-urlencoded',
  'form, multipart': 'multipart/form-data',
  'form, JSON in text': 'text/plain',
  'fetch, text': 'text/plain',
  'fetch, text, with a readable response': 'text/plain',
  'fetch, urlencoded': 'application/x-www-form-urlencoded',
  'fetch, multipart': 'multipart/form-data',
  'fetch, JSON without a type': undefined,
  'fetch, no body': undefined,
  'XMLHttpRequest, text': 'text/plain',
  'beacon, text': 'text/plain',
  'beacon, urlencoded': 'application/x-www-form-urlencoded',
} as const;
export type SendMethod = keyof typeof sendMethods;

/** Combines every deed with every guise. */
export const guisesOf = (deeds: readonly ForgedRequest[]) =>
  (Object.keys(sendMethods) as SendMethod[]).flatMap((guise) => deeds.map((deed) => [guise, deed] as const));

export const formTypes = ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain'];

/** Runs in the browser. Sets the page title when, as far as the page can tell, all of its requests are complete. */
const script = `
const hidden = (tag, attributes) => {
  const element = Object.assign(document.createElement(tag), attributes);
  element.style.display = 'none';
  document.body.append(element);
  return element;
};
const settled = (element) => new Promise((resolve) => { element.onload = element.onerror = resolve; });
let frames = 0;
function submitForm(action, enctype, fields, target) {
  const form = hidden('form', { action, enctype, method: 'POST', target });
  for (const [name, value] of fields) {
    const input = document.createElement('input');
    Object.assign(input, { type: 'hidden', name, value });
    form.append(input);
  }
  form.submit();
}
async function formInFrame(url, enctype, fields) {
  const name = 'frame-' + ++frames;
  const frame = hidden('iframe', { name });
  const loaded = settled(frame);
  submitForm(url, enctype, fields, name);
  await loaded;
}
// The equals sign that a form inserts ends up inside a string.
const jsonFields = (body) => [[JSON.stringify(body).slice(0, -1) + (Object.keys(body).length ? ',' : '') + '"pad":"', '"}']];
const send = (url, mode, body) => fetch(url, { method: 'POST', mode, credentials: 'include', body });
const formData = (body) => { const data = new FormData(); for (const [name, value] of Object.entries(body)) data.set(name, value); return data; };
const ways = {
  'form, urlencoded': (url, body) => formInFrame(url, 'application/x-www-form-urlencoded', Object.entries(body)),
  'form, multipart': (url, body) => formInFrame(url, 'multipart/form-data', Object.entries(body)),
  'form, JSON in text': (url, body) => formInFrame(url, 'text/plain', jsonFields(body)),
  'fetch, text': (url, body) => send(url, 'no-cors', JSON.stringify(body)),
  'fetch, text, with a readable response': (url, body) => send(url, 'cors', JSON.stringify(body)),
  'fetch, urlencoded': (url, body) => send(url, 'no-cors', new URLSearchParams(body)),
  'fetch, multipart': (url, body) => send(url, 'no-cors', formData(body)),
  'fetch, JSON without a type': (url, body) => send(url, 'no-cors', new Blob([JSON.stringify(body)])),
  'fetch, no body': (url) => send(url, 'no-cors'),
  'XMLHttpRequest, text': (url, body) => new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open('POST', url);
    request.withCredentials = true;
    request.onloadend = () => resolve(request.status > 0 ? new Response() : undefined);
    request.send(JSON.stringify(body));
  }),
  'beacon, text': async (url, body) => navigator.sendBeacon(url, JSON.stringify(body)),
  'beacon, urlencoded': async (url, body) => navigator.sendBeacon(url, new URLSearchParams(body)),
};
// Requests that require a preflight. The preflight must fail, so that the actual request is never sent.
const asks = {
  json: (url, body) => fetch(url, { method: 'POST', credentials: 'include', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  method: (url, body, method) => fetch(url, { method, credentials: 'include', body: JSON.stringify(body) }),
  header: (url, body) => fetch(url, { method: 'POST', credentials: 'include', headers: { 'x-http-method-override': 'DELETE' }, body: JSON.stringify(body) }),
  beacon: async (url, body) => navigator.sendBeacon(url, new Blob([JSON.stringify(body)], { type: 'application/json' })),
};
const loads = {
  img: (src) => settled(hidden('img', { src })),
  iframe: (src) => settled(hidden('iframe', { src })),
  script: (src) => settled(hidden('script', { src })),
  stylesheet: (href) => settled(hidden('link', { rel: 'stylesheet', href })),
  fetch: (url) => fetch(url, { mode: 'no-cors', credentials: 'include' }),
};
async function attack({ target, deeds, questions, reads }) {
  const work = [];
  const given = ([, deed]) => target + deed.path;
  for (const pair of deeds) work.push(ways[pair[0]](given(pair), pair[1].body));
  for (const [way, deed, method] of questions) work.push(asks[way](target + deed.path, deed.body, method));
  for (const [way, path] of reads) work.push(loads[way](target + path));
  const outcomes = await Promise.allSettled(work);
  const read = outcomes.filter(({ value }) => value instanceof Response && value.type !== 'opaque');
  const said = 'done, answers read: ' + read.length;
  if (window.top === window) document.title = said;
  else window.top.postMessage(said, '*');
}
`;

/** The requests that a page sends to `target`. */
export interface Attack {
  target: string;
  deeds: readonly (readonly [SendMethod, ForgedRequest])[];
  /** Requests that require a CORS preflight. */
  questions: readonly (readonly ['json' | 'method' | 'header' | 'beacon', ForgedRequest, string?])[];
  /** GET requests for resources of a page. */
  reads: readonly (readonly ['img' | 'iframe' | 'script' | 'stylesheet' | 'fetch', string])[];
}

const inScript = (value: unknown) => JSON.stringify(value).replaceAll('<', '\\u003c');

/** A page that starts the whole attack when it is opened. */
export const attackerPage = (attack: Attack): string =>
  `<!DOCTYPE html><title>Cats</title><body><script>${script}\nattack(${inScript(attack)});</script>`;

/** A page that navigates to the service in the same window by submitting a form. */
export const leavingPage = (url: string, enctype: string, { body }: ForgedRequest): string => {
  const fields = enctype === 'text/plain' ? `jsonFields(${inScript(body)})` : `Object.entries(${inScript(body)})`;
  return `<!DOCTYPE html><title>Cats</title><body><script>${script}
submitForm(${inScript(url)}, ${inScript(enctype)}, ${fields}, '_top');</script>`;
};

/** Runs a page in a frame with an opaque origin. */
export const sandboxedPage = (page: string): string =>
  `<!DOCTYPE html><title>Cats</title><script>onmessage = ({ data }) => { document.title = data; };</script>
<iframe sandbox="allow-scripts allow-forms" srcdoc="${page.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"></iframe>`;
