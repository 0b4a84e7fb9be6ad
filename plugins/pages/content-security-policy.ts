/** Pages can use only the scripts, styles and API of this service, and the project's logo. */
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

/** The origin of an external URL. A host can contain `;`, which would end the directive and start another one. */
function originOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, origin } = new URL(url);
  return /^https?:$/.test(protocol) && /^https?:\/\/[a-z0-9.:[\]-]+$/.test(origin) ? origin : undefined;
}
