type Alternatives = Record<string, string[]>[];

/** Any one of the carriers of an access token or static token. */
const anyCredential: Alternatives = [{ bearer: [] }, { queryToken: [] }, { sessionCookie: [] }];

/** The same, or nothing at all: the answer is for anyone, and tells more to some. */
export const optionalCredential: Alternatives = [{}, ...anyCredential];

/** A session's own credential: in the body, or in the cookie of its mode. */
export const sessionCarriers: Alternatives = [{}, { refreshCookie: [] }, { sessionCookie: [] }];

/** For browsers: whoever is signed in there, or nobody. */
export const browserSession: Alternatives = [{}, { sessionCookie: [] }];

/**
 * What an operation says of the credentials that it takes, unless it says otherwise, by who may call it. A credential
 * that is not asked for changes nothing; but one that cannot be used is refused by every operation.
 */
export const securityOf: Readonly<Record<'anonymous' | 'permission' | 'authenticated', Alternatives>> = {
  anonymous: [],
  permission: optionalCredential,
  authenticated: anyCredential,
};
