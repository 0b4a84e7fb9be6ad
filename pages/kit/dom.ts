/** The first matching element. @throws if no element matches */
export function find<E extends Element = HTMLElement>(selector: string, root: ParentNode = document): E {
  const element = root.querySelector<E>(selector);
  if (!element) throw new Error(`The page has no ${selector}.`);
  return element;
}

/** Leaves the page. The promise never resolves, so nothing else happens on this page. */
export function leaveTo(url: string): Promise<never> {
  location.replace(url);
  return new Promise(() => {});
}

/** A URL of this service with additional query parameters. */
export function withQuery(url: string, parameters: Record<string, string>): string {
  const { pathname, searchParams } = new URL(url, location.origin);
  for (const [name, value] of Object.entries(parameters)) searchParams.set(name, value);
  return `${pathname}?${searchParams}`;
}

/**
 * Sets a text. An email address in it starts a new line rather than break. If it is longer than a line, it breaks before its punctuation,
 * where it is easy to read.
 */
export function setText(element: Element, content: string): void {
  const words = content.split(/(\s+)/);
  element.replaceChildren(...words.map((word) => (word.includes('@') ? addressOf(word) : word)));
}

function addressOf(word: string): HTMLElement {
  const address = document.createElement('span');
  address.className = 'address';
  const [first = '', ...more] = word.split(/(?<=.)(?=[@.+_-])/);
  address.append(first, ...more.flatMap((part) => [document.createElement('wbr'), part]));
  return address;
}

/** A copy of the element in a template. */
export function itemOf(template: string): HTMLElement {
  const { content } = find<HTMLTemplateElement>(template);
  const item = document.importNode(content, true).firstElementChild;
  if (!(item instanceof HTMLElement)) throw new Error(`The template ${template} is empty.`);
  return item;
}
