const here = 'http://here.invalid';

/**
 * Where to go after signing in, if that is a path on our own origin; undefined otherwise. A browser reads `//host`,
 * `/\host` and `/./\host` as another host, so the path is read as a browser reads it, and judged after that.
 */
export function redirectTarget(wanted: unknown): string | undefined {
  if (typeof wanted !== 'string' || !wanted.startsWith('/') || !URL.canParse(wanted, here)) return undefined;
  const { origin, pathname, search, hash } = new URL(wanted, here);
  if (origin !== here || pathname.startsWith('//')) return undefined;
  return `${pathname}${search}${hash}`;
}
