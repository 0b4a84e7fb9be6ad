/**
 * The one form of an e-mail address that accounts are counted by, whatever its spelling: letter case, compatibility forms
 * of letters (Unicode NFKC), blanks around it. Users are found by an address in any letter case; anything else that is
 * the same here was refused before, or finds nobody.
 */
export const accountKey = (email: string): string => email.normalize('NFKC').trim().toLowerCase();
