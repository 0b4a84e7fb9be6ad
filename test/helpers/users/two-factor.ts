import { randomUUID } from 'node:crypto';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import type { Test } from 'tap';
import type { ErrorCode } from '../../../schemas/errors.js';
import { refused } from '../http/refusals.js';
import { stateOf } from '../http/writing.js';
import type { TestApp } from '../service/app.js';
import { policyWith } from './rights.js';
import { codeOfStep, stepLength, stepOf } from './totp.js';
import { changeUser, storedUser } from './users.js';

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
  const forget = () => changeUser(app, id, { tfaFailures: 0, tfaLockedUntil: null });
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
