import bowser from 'bowser';

/**
 * What a person would call the device behind a user agent: browser and system, such as `Firefox, Linux`, or the name of
 * the program. Anybody may send anything here: it is for people to recognise a session by, and nothing is decided by it.
 */
export function deviceOf(userAgent: string | null): string | null {
  if (userAgent === null) return null;
  const { browser, os } = bowser.parse(userAgent);
  // A program says its name first, as in `curl/8.5.0` (RFC 9110, 10.1.5). The parser makes the same of what it does not know.
  const program = /^[\w.-]+(?=\/|$)/.exec(userAgent)?.[0];
  const name = browser.name || (program === 'Mozilla' ? undefined : program);
  return [name, os.name].filter(Boolean).join(', ') || null;
}
