import { cookies, headers } from 'next/headers';

export const gatehouse = process.env.GATEHOUSE_URL ?? 'http://127.0.0.1:8055';

/** A request that failed. */
export class Failure extends Error {
  constructor(
    readonly code: string,
    /** Why a password was rejected. */
    readonly reason?: string,
    /** The number of seconds to wait before the next attempt. */
    readonly retryAfter?: number,
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
 * @throws {Failure}
 */
export async function call<T = undefined>(path: string, body?: object): Promise<T> {
  const [jar, incoming] = await Promise.all([cookies(), headers()]);
  const response = await fetch(`${gatehouse}${path}`, {
    method: body ? 'POST' : 'GET',
    cache: 'no-store',
    headers: {
      cookie: jar.toString(),
      'user-agent': incoming.get('user-agent') ?? '',
      // Gatehouse limits attempts per address, so it must know the address of the user.
      'x-forwarded-for': incoming.get('x-forwarded-for') ?? '',
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

export interface Profile {
  email: string | null;
  first_name: string | null;
}

/** The signed-in user, or `null`. Gatehouse checks the session, so one that has ended is not accepted. */
export async function readUser(): Promise<Profile | null> {
  try {
    return await call<Profile>('/users/me/profile');
  } catch (error) {
    if (error instanceof Failure && ['INVALID_CREDENTIALS', 'TOKEN_EXPIRED', 'INVALID_TOKEN'].includes(error.code))
      return null;
    throw error;
  }
}
