import type { Locale } from '../platform/locales.js';
import { type MailKind, type Notice, securityChanges } from './jobs.js';
import type { MailInput } from './variables.js';

/** Sample inputs for one kind of email: with every optional value, and with as few values as possible. */
export function sampleInputs(kind: MailKind, language: Locale): MailInput[] {
  if (kind === 'notice') return sampleNotices(language);
  if (kind === 'email_login' || kind === 'email_code') return sampleCodes(kind, language);
  return sampleLinks(kind, language);
}

const inviter = { email: 'grace@example.com', first_name: 'Grace', last_name: 'Hopper' };

function sampleLinks(kind: MailKind, language: Locale): MailInput[] {
  const { full, bare } = samples(language);
  return [
    {
      ...full,
      ...(kind === 'invite' ? { inviter } : {}),
      passwordUrl: 'https://accounts.example.com/account/forgot-password',
      validFor: 7 * 86_400_000,
    },
    { ...bare, url: full.url, validFor: 60_000 },
  ];
}

function sampleCodes(kind: 'email_login' | 'email_code', language: Locale): MailInput[] {
  const { full, bare } = samples(language);
  const content = { code: '492039', validFor: 600_000, ...(kind === 'email_code' ? { url: null } : { url: full.url }) };
  return [
    { ...full, ...content },
    { ...bare, ...content },
  ];
}

function sampleNotices(language: Locale): MailInput[] {
  const { full, bare } = samples(language);
  const at = '2026-01-31T09:26:53.000Z';
  const all = [...securityChanges] as Notice['changes'];
  const items = ['password', 'token', 'passkey', 'recovery_codes', 'email_change', { provider: 'Example' }] as const;
  const reset = { removed: items, remaining: items };
  return [all, ...securityChanges.map((change): Notice['changes'] => [change])].flatMap((changes) => [
    { ...full, notice: { changes, at, isOwn: true, device: 'Firefox, Linux', provider: 'Example', reset } },
    { ...bare, notice: { changes, at, isOwn: false, device: null, provider: null } },
  ]);
}

function samples(language: Locale) {
  const url = 'https://accounts.example.com/account?a=1&token=sample';
  const full: MailInput = {
    language,
    project: { name: 'Example', color: '#336699', logo: 'https://example.com/logo.png' },
    recipient: { email: 'ada@example.com', first_name: 'Ada', last_name: 'Lovelace' },
    url,
    isOwnPage: true,
    validFor: null,
    notice: null,
  };
  const bare: MailInput = {
    ...full,
    isOwnPage: false,
    project: { name: 'Example', color: null, logo: null },
    recipient: { email: 'ada@example.com', first_name: null, last_name: null },
    url: null,
  };
  return { full, bare };
}
