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

const script = new vm.Script("new RegExp(pattern, 'u').test(password)");

/** Milliseconds. Only the thread that evaluates passwords waits for it; on a busy machine, that thread gets little time. */
const timeout = 2_000;

/**
 * Whether a password meets a policy. A regular expression can take forever on a text that was made for it: when it takes
 * too long, the password does not meet it.
 */
export function meetsPolicy(policy: string, password: string): boolean {
  const context = vm.createContext({ pattern: patternOf(policy), password });
  try {
    return script.runInContext(context, { timeout }) === true;
  } catch {
    return false;
  }
}
