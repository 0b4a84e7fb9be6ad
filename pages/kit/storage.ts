/** Uses the storage of the browser. Browsers can refuse storage. @returns undefined in that case */
export function ifAllowed<T>(use: () => T): T | undefined {
  try {
    return use();
  } catch {
    return undefined;
  }
}
