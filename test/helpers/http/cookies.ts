import type { LightMyRequestResponse } from 'fastify';

export interface SetCookie {
  value: string;
  /** The attributes in alphabetical order. `Expires` has no value. */
  attributes: string[];
}

/** The cookies that a response sets, by name. */
export function setCookies(response: LightMyRequestResponse): Record<string, SetCookie> {
  const lines = [response.headers['set-cookie'] ?? []].flat();
  return Object.fromEntries(
    lines.map((line) => {
      const [pair = '', ...attributes] = line.split('; ');
      const [name, value] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
      return [name, { value, attributes: attributes.map((text) => text.replace(/^Expires=.*/, 'Expires')).sort() }];
    }),
  );
}

/** The names of the cookies that a response clears by making them empty and expired. */
export function clearedCookies(response: LightMyRequestResponse): string[] {
  return [response.headers['set-cookie'] ?? []]
    .flat()
    .filter((line) => /^[^=]+=;/.test(line) && line.includes('Expires=Thu, 01 Jan 1970 00:00:00 GMT'))
    .map((line) => line.slice(0, line.indexOf('=')));
}

export const sessionCookie = (token: string) => ({ cookie: `gatehouse_session_token=${token}` });
