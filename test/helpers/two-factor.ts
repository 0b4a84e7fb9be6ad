import { randomUUID } from 'node:crypto';
import { count, eq } from 'drizzle-orm';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import type { Test } from 'tap';
import { recoveryCodes } from '../../db/schema.js';
import type { ErrorCode } from '../../schemas/errors.js';
import { storedUser, updateAccount } from './accounts.js';
import { bearer, type TestApp } from './app.js';
import { refused } from './refusals.js';
import { policyWith, tokenHolder } from './rights.js';
import { openSession } from './sessions.js';
import { codeOfStep, rfcSecret, stepLength, stepOf } from './totp.js';
import { stateOf } from './writing.js';

/** Creates a policy that allows users to change only their own second factor. */
export const ownSecretPolicy = (app: FastifyInstance, more: object = {}, policy: object = {}): Promise<string> =>
  policyWith(
    app,
    [
      {
        collection: 'users',
        action: 'update',
        fields: ['tfa_secret'],
        permissions: { id: { _eq: '$CURRENT_USER' } },
        ...more,
      },
    ],
    { appAccess: true, ...policy },
  );

/**
 * Moves the clock to the start of the next time step, so that the step lasts for the entire test. Returns the number
 * of the step.
 */
export function nextStep({ clock }: Pick<TestApp, 'clock'>): number {
  const step = stepOf(clock.now()) + 1;
  clock.advance(step * stepLength - clock.now().getTime());
  return step;
}

/** Creates a user with a session and functions for the operations of two-factor authentication. */
export async function newPerson(service: TestApp, columns: NonNullable<Parameters<typeof tokenHolder>[1]> = {}) {
  const { app, post } = service;
  const holder = await tokenHolder(app, columns);
  const user = { ...holder, headers: await openSession(app, holder.id), tokenHeaders: holder.headers };
  const ask =
    (path: string) =>
    (body: object = {}, headers: Record<string, string> = user.headers) =>
      post(`/users/me/tfa/${path}`, body, headers);
  return {
    ...user,
    generate: ask('generate'),
    enable: ask('enable'),
    disable: ask('disable'),
    renewCodes: ask('recovery-codes'),
    login: (otp?: unknown, others: object = {}) =>
      post('/auth/login', {
        email: user.email,
        password: user.password,
        ...(otp === undefined ? {} : { otp }),
        ...others,
      }),
    /** Logs in and returns the headers of the new session. */
    signIn: async (otp?: string) => {
      const { email, password } = user;
      const response = await post('/auth/login', { email, password, ...(otp === undefined ? {} : { otp }) });
      return bearer(response.json().data.access_token);
    },
    row: () => storedUser(app, user.id),
    codesLeft: () => codesLeft(app, user.id),
  };
}

export type Person = Awaited<ReturnType<typeof newPerson>>;

/** Like `newPerson`, with two-factor authentication enabled. Uses the secret of the RFC. */
export async function newHolder(service: TestApp, columns: NonNullable<Parameters<typeof tokenHolder>[1]> = {}) {
  const person = await newPerson(service, columns);
  await updateAccount(service.app, person.id, { tfaSecret: service.app.tfaSecrets.seal(rfcSecret.base32, person.id) });
  return person;
}

export async function codesLeft(app: FastifyInstance, id: string): Promise<number> {
  const [found] = await app.db.select({ left: count() }).from(recoveryCodes).where(eq(recoveryCodes.user, id));
  return found?.left ?? 0;
}

/**
 * Asserts that a request is rejected and leaves all stored data unchanged except the number of attempts.
 * @param attempts the expected number
 */
export async function refusedUntouched(
  t: Test,
  { app }: TestApp,
  { id }: { id: string },
  send: () => Promise<LightMyRequestResponse>,
  code: ErrorCode,
  what: string,
  attempts = 0,
): Promise<void> {
  const forget = () => updateAccount(app, id, { tfaFailures: 0, tfaLockedUntil: null });
  await forget();
  const before = await stateOf(app);
  refused(t, await send(), code, what);
  t.equal((await storedUser(app, id)).tfaFailures, attempts, `${what}: attempts`);
  await forget();
  t.equal(await stateOf(app), before, `${what}: nothing changed`);
}

/** A code that is not valid at this step. */
export function wrongCode(step: number): string {
  const right = [step - 1, step, step + 1].map((one) => codeOfStep(one));
  return ['000000', '000001', '000002', '000003'].find((code) => !right.includes(code)) ?? '';
}

export const unknownId = () => randomUUID();
