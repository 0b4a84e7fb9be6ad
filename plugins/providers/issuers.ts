/** The issuer that ID tokens must name. */
export interface ExpectedIssuer {
  /** Whether it is the issuer of a token with this `tid` claim, the tenant of the user. */
  matches(issuer: unknown, tenant?: unknown): boolean;
  /** For the log. */
  name: string;
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const placeholder = '{tenantid}';
/** The names that stand for several of Microsoft's tenants. */
const severalTenants = new Set(['common', 'organizations']);
/** The tenant of personal accounts, which `organizations` excludes. */
const personalTenant = '9188040d-6c67-4c5b-b112-36a304b66dad';
/** The user flow of Azure AD B2C, which is part of the discovery URL, but not of the issuer. */
const userFlow = /^b2c_1a?_/i;

export const withoutSlash = (url: string) => url.replace(/\/+$/, '');

/**
 * The issuer of a discovery document, if it is the configured one. Microsoft's documents name a tenant by its ID, although their URL can
 * contain one of its domains, or `consumers`; those of `common` and `organizations` contain the placeholder `{tenantid}`. In this
 * case, each token must be from the issuer of the user's own tenant. A placeholder never replaces a tenant that the configuration
 * names, because users of all other tenants could then log in.
 */
export function issuerOf(named: string, configured: string): ExpectedIssuer | undefined {
  if (named === '') return undefined;
  if (withoutSlash(named) === withoutSlash(configured)) return exactly(named);
  const [given, wanted] = [segmentsOf(named), segmentsOf(configured)];
  const candidates = [wanted, wanted.filter((segment) => !userFlow.test(segment))];
  for (const candidate of candidates) {
    const differing = candidate.flatMap((segment, index) => (segment === given[index] ? [] : [index]));
    const [position, ...others] = differing;
    // The scheme and the host are the first three segments.
    if (given.length !== candidate.length || others.length > 0 || (position ?? 3) < 3) continue;
    if (position === undefined) return exactly(named);
    const [tenant = '', alias = ''] = [given[position], candidate[position]];
    if (uuid.test(tenant) && (alias === 'consumers' || alias.includes('.'))) return exactly(named);
    if (tenant === placeholder && uuid.test(alias)) return exactly(named.replace(placeholder, alias));
    if (tenant === placeholder && severalTenants.has(alias)) return ofTenants(named, alias);
  }
  return undefined;
}

const segmentsOf = (url: string) => withoutSlash(url).split('/');

const exactly = (name: string): ExpectedIssuer => ({ name, matches: (issuer) => issuer === name });

const ofTenants = (template: string, alias: string): ExpectedIssuer => ({
  name: template,
  matches: (issuer, tenant) =>
    typeof tenant === 'string' &&
    uuid.test(tenant) &&
    issuer === template.replace(placeholder, tenant) &&
    !(alias === 'organizations' && tenant.toLowerCase() === personalTenant),
});
