import { cookies, headers } from 'next/headers';

export const gatehouse = process.env.GATEHOUSE_URL ?? 'http://127.0.0.1:8055';

/** The number of proxies through which every request reaches Next.js. */
const trustedProxies = Number(process.env.TRUSTED_PROXIES ?? 0);

/** A request that failed. */
export class Failure extends Error {
  constructor(
    readonly code: string,
    /** Why a password was rejected. */
    readonly reason?: string,
    /** The number of seconds to wait before the next attempt. */
    readonly retryAfter = 60,
  ) {
    super(code);
  }
}

interface Answer<T> {
  data?: T;
  errors?: { extensions: { code: string; type?: string } }[];
}

/**
 * Calls Gatehouse with the cookies and the address of the user.
 * @param body makes it a POST request
 * @throws {Failure}
 */
export async function call<T = void>(path: string, body?: object): Promise<T> {
  const [jar, incoming] = await Promise.all([cookies(), headers()]);
  const response = await fetch(`${gatehouse}${path}`, {
    method: body ? 'POST' : 'GET',
    cache: 'no-store',
    headers: {
      cookie: jar.toString(),
      ...clientHeaders(incoming),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const { data, errors }: Answer<T> = text.startsWith('{') ? JSON.parse(text) : {};
  if (!response.ok) {
    const { code = `HTTP_${response.status}`, type } = errors?.[0]?.extensions ?? {};
    throw new Failure(code, type, Number(response.headers.get('retry-after')) || undefined);
  }
  // Server components cannot set cookies, but the operations that they call set none.
  for (const { name, value, ...attributes } of response.headers.getSetCookie().map(parseCookie))
    jar.set(name, value, attributes);
  return data as T;
}

/**
 * The device and the address of the user. Gatehouse shows both to users and administrators, and limits attempts per
 * address.
 *
 * Next.js does not check `X-Forwarded-For`: if the client sends this header, Next.js keeps it as it is. If you forwarded
 * it, anyone could choose the address that Gatehouse limits and logs. Each proxy appends the address from which it
 * received the request, so only the last entries, which come from your own proxies, can be trusted. Without a proxy,
 * there is no trustworthy address, and all users share the limits of the Next.js server.
 */
export function clientHeaders(incoming: Headers): Record<string, string> {
  const addresses = incoming.get('x-forwarded-for')?.split(',') ?? [];
  const address = trustedProxies > 0 ? addresses.at(-trustedProxies)?.trim() : undefined;
  return { 'user-agent': incoming.get('user-agent') ?? '', ...(address && { 'x-forwarded-for': address }) };
}

/** Reads a `Set-Cookie` header of Gatehouse. Its cookies are always HttpOnly, with the path `/`. */
export function parseCookie(header: string) {
  const [pair = '', ...attributes] = header.split('; ');
  const [name = '', value = ''] = pair.split('=');
  const maxAge = attributes.find((attribute) => attribute.startsWith('Max-Age='))?.slice('Max-Age='.length);
  return {
    name,
    value,
    httpOnly: true,
    path: '/',
    sameSite: 'lax',
    secure: attributes.includes('Secure'),
    // Without Max-Age, Gatehouse clears the cookie.
    maxAge: Number(maxAge ?? 0),
  } as const;
}

export const codeOf = (error: unknown) => (error instanceof Failure ? error.code : undefined);

/** Whether the failure means that the user is not signed in. */
export const isSignedOut = (error: unknown) =>
  ['INVALID_CREDENTIALS', 'INVALID_TOKEN', 'TOKEN_EXPIRED'].includes(codeOf(error) ?? '');

export interface Profile {
  email: string | null;
  first_name: string | null;
}

/** The signed-in user, or `null`. Gatehouse checks the session, so one that has ended is not accepted. */
export async function readUser(): Promise<Profile | null> {
  try {
    return await call<Profile>('/users/me/profile');
  } catch (error) {
    if (isSignedOut(error)) return null;
    throw error;
  }
}
