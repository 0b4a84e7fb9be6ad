/** What a page may load and do: nothing but our own scripts, styles and API, and the project's logo. */
export function contentSecurityPolicy(logo: string | null): string {
  const logoOrigin = logo === null ? undefined : originOf(logo);
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self' data:${logoOrigin === undefined ? '' : ` ${logoOrigin}`}`,
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** The origin of a URL elsewhere. A host can hold a `;`, which would end the directive and begin another. */
function originOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, origin } = new URL(url);
  return /^https?:$/.test(protocol) && /^https?:\/\/[a-z0-9.:[\]-]+$/.test(origin) ? origin : undefined;
}
