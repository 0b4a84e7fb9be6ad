import vm from 'node:vm';

/** The pattern between the slashes of `/…/`, as other services of this kind write it, or the whole. */
const patternOf = (policy: string): string => /^\/(.+)\/$/s.exec(policy)?.[1] ?? policy;

/** Whether a password policy is a regular expression at all. */
export function isPolicy(policy: string): boolean {
  try {
    new RegExp(patternOf(policy), 'u');
    return true;
  } catch {
    return false;
  }
}

const script = new vm.Script(`{
  const expression = new RegExp(pattern, 'u');
  passwords.every((password) => expression.test(password));
}`);

/** Milliseconds. */
const patience = 250;

/**
 * Whether all of these passwords meet a policy. A regular expression can take for ever on a text that was made for it;
 * one that takes too long is given up, and the passwords do not meet it.
 */
export function meetPolicy(policy: string, passwords: readonly string[]): boolean {
  const context = vm.createContext({ pattern: patternOf(policy), passwords });
  try {
    return script.runInContext(context, { timeout: patience }) === true;
  } catch {
    return false;
  }
}
