import { createHash } from 'node:crypto';
import fastq from 'fastq';
import { anyAddress, createHttpClient } from '../../platform/http-client.js';

/** Milliseconds, including the time that a check waits in the queue. */
const timeout = 1_500;

/** Concurrent checks. */
const concurrency = 8;

/** Bytes. A range has about 1,000 hashes; with padding, up to 80 KB. */
const maxBytes = 1_048_576;

/** @returns whether a password is known from a data breach; also false if the check fails */
export type BreachCheck = (password: string) => Promise<boolean>;

/** The base URL of the hash ranges, from PASSWORD_BREACH_CHECK. */
const rangesAt = (setting: string): string => {
  const base = setting === 'hibp' ? 'https://api.pwnedpasswords.com' : setting.replace(/\/+$/, '');
  return /\/range$/.test(base) ? base : `${base}/range`;
};

/**
 * Looks up passwords in a service for breached passwords, with k-anonymity: the service receives the first 5 of the 40 digits
 * of the SHA-1 hash, and returns all hashes that start with them. The response is padded, so that its length does not reveal
 * the range.
 * @param setting `hibp`, or the URL of a mirror
 */
export function createBreachCheck(setting: string, onFailure: (error: unknown) => void): BreachCheck {
  const url = rangesAt(setting);
  // Not traced: the URLs contain the digits of the hashes.
  const fetchRange = createHttpClient({ allows: anyAddress, timeout, maxBytes });

  const check = async ({ password, signal }: { password: string; signal: AbortSignal }): Promise<boolean> => {
    signal.throwIfAborted();
    const hash = createHash('sha1').update(password).digest('hex').toUpperCase();
    const headers = { 'add-padding': 'true', 'user-agent': 'gatehouse', accept: 'text/plain' };
    const response = await fetchRange(`${url}/${hash.slice(0, 5)}`, { headers, signal });
    if (!response.ok) throw new Error(`The service for breached passwords responded with ${response.status}.`);
    return isInRange(await response.text(), hash.slice(5));
  };
  const queue = fastq.promise(check, concurrency);

  return async (password) => {
    try {
      return await queue.push({ password, signal: AbortSignal.timeout(timeout) });
    } catch (error) {
      onFailure(error);
      return false;
    }
  };
}

/** Each line has the rest of a hash, and how often the password was found. The number is 0 in padding lines. */
function isInRange(range: string, suffix: string): boolean {
  const line = range.split(/\r?\n/).find((each) => each.toUpperCase().startsWith(`${suffix}:`));
  return line !== undefined && Number(line.slice(suffix.length + 1)) > 0;
}
