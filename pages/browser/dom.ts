/** The first element that matches; there must be one. */
export function find<E extends Element = HTMLElement>(selector: string, root: ParentNode = document): E {
  const element = root.querySelector<E>(selector);
  if (!element) throw new Error(`The page has no ${selector}.`);
  return element;
}

/** Goes to another place, and lets nothing else happen on this page. */
export function leaveTo(url: string): Promise<never> {
  location.replace(url);
  return new Promise(() => {});
}

/** A URL of our own with more parameters in its query. */
export function withQuery(url: string, parameters: Record<string, string>): string {
  const { pathname, searchParams } = new URL(url, location.origin);
  for (const [name, value] of Object.entries(parameters)) searchParams.set(name, value);
  return `${pathname}?${searchParams}`;
}
