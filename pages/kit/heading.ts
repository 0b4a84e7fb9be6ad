/** The visible heading of the content. If nothing is visible yet, the first one. */
export function visibleHeading(): HTMLElement | undefined {
  const headings = [...document.querySelectorAll<HTMLElement>('[data-content] h1')];
  return headings.find((heading) => heading.checkVisibility()) ?? headings[0];
}

/** For a user whose focus was on something that has disappeared. */
export const focusHeading = (): void => visibleHeading()?.focus();
