import vm from 'node:vm';

/** The pattern between the slashes of `/…/`, which is how similar services write it. Without slashes, the whole text. */
const patternOf = (policy: string): string => /^\/(.+)\/$/s.exec(policy)?.[1] ?? policy;

/** Whether a password policy is a valid regular expression. */
export function isPolicy(policy: string): boolean {
  try {
    new RegExp(patternOf(policy), 'u');
    return true;
  } catch {
    return false;
  }
}

const script = new vm.Script("new RegExp(pattern, 'u').test(password)");

/** Milliseconds. Generous, because the thread that evaluates passwords gets little time on a busy machine, and only that thread waits. */
const timeout = 2_000;

/**
 * Whether a password meets a policy. A malicious password can make a regular expression run forever, so a password does not
 * meet the policy if the evaluation takes too long.
 */
export function meetsPolicy(policy: string, password: string): boolean {
  const context = vm.createContext({ pattern: patternOf(policy), password });
  try {
    return script.runInContext(context, { timeout }) === true;
  } catch {
    return false;
  }
}
