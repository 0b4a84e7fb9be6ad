import fetchCookie from 'fetch-cookie';

export type CookieJar = InstanceType<typeof fetchCookie.toughCookie.CookieJar>;

/** The cookies of one browser. */
export const createJar = (): CookieJar => new fetchCookie.toughCookie.CookieJar();

/** `fetch` as a browser with these cookies performs it. */
export const fetchWith = (jar: CookieJar) => fetchCookie(fetch, jar);
