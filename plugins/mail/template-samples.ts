import type { Locale } from '../locales.js';
import type { MailInput } from './variables.js';

/** One mail with all that there can be, and one with as little as there can be. */
export function sampleInputs(language: Locale): MailInput[] {
  const url = 'https://accounts.example.com/account?a=1&token=sample';
  return [
    {
      language,
      project: { name: 'Example', color: '#336699', logo: 'https://example.com/logo.png' },
      variables: { url, email: 'ada@example.com', first_name: 'Ada', last_name: 'Lovelace' },
      validFor: 7 * 86_400_000,
    },
    {
      language,
      project: { name: 'Example', color: null, logo: null },
      variables: { url, email: 'ada@example.com', first_name: null, last_name: null },
      validFor: 60_000,
    },
  ];
}
