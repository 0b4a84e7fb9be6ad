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

/** A copy of the element in a template. */
export function itemOf(template: string): HTMLElement {
  const { content } = find<HTMLTemplateElement>(template);
  const item = document.importNode(content, true).firstElementChild;
  if (!(item instanceof HTMLElement)) throw new Error(`The template ${template} is empty.`);
  return item;
}
