import { eq } from 'drizzle-orm';
import { settings } from '../../../db/schema.js';
import type { TestApp } from '../service/app.js';
import { userPassword } from './credentials.js';
import type { TestUser } from './users.js';

/** Functions that log in from any network address. */
export function loginsOf({ app, request }: Pick<TestApp, 'app' | 'request'>) {
  const logIn = (email: string, password: string, remoteAddress: string, more: object = {}) =>
    request({ method: 'POST', url: '/auth/login', remoteAddress, payload: { email, password, ...more } });
  return {
    logIn,
    right: ({ email }: Pick<TestUser, 'email'>, from: string) => logIn(email, userPassword, from),
    wrong: ({ email }: Pick<TestUser, 'email'>, from: string) => logIn(email, 'a wrong guess', from),
    /** Sets `auth_login_attempts`. */
    allow: (limit: number | null) =>
      app.db.update(settings).set({ authLoginAttempts: limit }).where(eq(settings.id, 1)),
  };
}

/** Counts the passwords that are verified after this call. */
export function countChecks({ passwords }: TestApp['app']): () => number {
  const { verify } = passwords;
  let checked = 0;
  passwords.verify = (...shown) => {
    checked += 1;
    return verify(...shown);
  };
  return () => checked;
}
