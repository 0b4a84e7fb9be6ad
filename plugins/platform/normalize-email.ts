/**
 * The normalized form of an email address, under which attempts and emails are counted. It ignores letter case, compatibility
 * forms of letters (Unicode NFKC) and surrounding whitespace. Users are found by their address in any letter case. Other variants
 * with the same normalized form were rejected earlier, or match no user.
 */
export const accountKey = (email: string): string => email.normalize('NFKC').trim().toLowerCase();
