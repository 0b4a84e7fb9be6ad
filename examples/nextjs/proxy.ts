import { type NextRequest, NextResponse } from 'next/server';
import { clientHeaders, gatehouse, parseCookie } from './lib/gatehouse';

const hour = 3_600_000;

/**
 * Refreshes the session once an hour, before a page is rendered, because server components cannot set cookies. The
 * session ends if it is not refreshed for a day.
 */
export async function proxy(request: NextRequest) {
  const session = request.cookies.getAll().find(({ name }) => name.endsWith('gatehouse_session_token'));
  if (!session || Date.now() - issuedAt(session.value) < hour) return NextResponse.next();
  const refreshed = await fetch(`${gatehouse}/auth/refresh`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      cookie: `${session.name}=${session.value}`,
      ...clientHeaders(request.headers),
    },
    body: JSON.stringify({ mode: 'session' }),
  });
  const cookies = refreshed.headers.getSetCookie().map(parseCookie);
  // The page that is about to be rendered needs the new cookie, too.
  for (const { name, value } of cookies) request.cookies.set(name, value);
  const response = NextResponse.next({ request });
  for (const { name, value, ...attributes } of cookies) response.cookies.set(name, value, attributes);
  return response;
}

/** When a token was issued, in milliseconds. Gatehouse verifies the token; this only reads it. */
function issuedAt(token: string): number {
  try {
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).iat * 1000;
  } catch {
    return 0;
  }
}

export const config = { matcher: '/((?!_next/|icon.svg).*)' };
