/**
 * The normalized form of an email address, under which attempts and emails are counted. It ignores letter case, compatibility
 * forms of letters (Unicode NFKC) and surrounding whitespace. User lookups ignore only letter case. Other variants
 * with the same normalized form were rejected earlier, or match no user.
 */
export const normalizeEmail = (email: string): string => email.normalize('NFKC').trim().toLowerCase();
