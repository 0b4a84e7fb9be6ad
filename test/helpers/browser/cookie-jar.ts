import fetchCookie from 'fetch-cookie';

export type CookieJar = InstanceType<typeof fetchCookie.toughCookie.CookieJar>;

/** The cookies of one browser. */
export const createJar = (): CookieJar => new fetchCookie.toughCookie.CookieJar();

/** A `fetch` that sends and stores cookies as a browser with this cookie jar does. */
export const fetchWith = (jar: CookieJar, send: typeof fetch = fetch) => fetchCookie(send, jar);
