/** The part of `fs-native-extensions` that is used here; the package ships no types of its own. */
declare module 'fs-native-extensions' {
  /** Takes an exclusive advisory lock on an open file; false when another process holds it. */
  export function tryLock(fd: number): boolean;
}
