type Alternatives = Record<string, string[]>[];

/** An access token or static token, in any of its carriers. */
const anyCredential: Alternatives = [{ bearer: [] }, { queryToken: [] }, { sessionCookie: [] }];

/** The same, or no credential: anyone gets a response, and some callers get more in it. */
export const optionalCredential: Alternatives = [{}, ...anyCredential];

/** The credential of a session: in the body, or in the cookie of its mode. */
export const sessionCarriers: Alternatives = [{}, { refreshCookie: [] }, { sessionCookie: [] }];

/** For browsers: the session cookie, if there is one. */
export const browserSession: Alternatives = [{}, { sessionCookie: [] }];

/** The secret of a confidential client, in the header. Public clients have none, and others can send it in the form. */
export const clientCredential: Alternatives = [{ clientSecret: [] }, {}];

/** An access token that a client has received for Gatehouse itself. */
export const clientToken: Alternatives = [{ clientToken: [] }];

/**
 * The `security` of operations that do not declare their own, by access. For `anonymous`, a valid credential has no effect; an invalid
 * one is still rejected, except a session cookie.
 */
export const securityOf: Readonly<Record<'anonymous' | 'permission' | 'authenticated', Alternatives>> = {
  anonymous: [],
  permission: optionalCredential,
  authenticated: anyCredential,
};
