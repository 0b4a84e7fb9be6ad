import { page } from './page-data.js';

export const labelOf = (name: string): string => page.providers.find((one) => one.name === name)?.label ?? name;

/** The logo of a provider, among those that the page contains. */
export const iconHref = (name: string): string =>
  `#provider-${page.providers.find((one) => one.name === name)?.icon ?? 'other'}`;
