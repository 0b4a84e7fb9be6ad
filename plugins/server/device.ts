import bowser from 'bowser';

/**
 * A readable name for a user agent: browser and system, such as `Firefox, Linux`, or the name of the program. Clients can send
 * any text, so the name only helps users to recognize a session or an unfamiliar sign-in. The service must not base any other decision
 * on it. It contains no versions, so an update of the browser does not change it.
 */
export function deviceOf(userAgent: string | null): string | null {
  if (userAgent === null) return null;
  const { browser, os } = bowser.parse(userAgent);
  // A program sends its name first, as in `curl/8.5.0` (RFC 9110, 10.1.5). The parser does the same for programs that it does not know.
  const program = /^[\w.-]+(?=\/|$)/.exec(userAgent)?.[0];
  const name = browser.name || (program === 'Mozilla' ? undefined : program);
  return [name, os.name].filter(Boolean).join(', ') || null;
}
