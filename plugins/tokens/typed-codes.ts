/** Characters. Longer than any code with spaces between all digits. */
const maxLength = 64;

/**
 * A one-time code as the service compares it. Users type or paste it with spaces (`123 456`), invisible marks of right-to-left text, and
 * the decimal digits of their keyboard (`１２３４５６`, `١٢٣٤٥٦`).
 */
export const readCode = (text: string): string =>
  (text.length > maxLength ? '' : text)
    .replace(/[\s\p{Cf}]/gu, '')
    .replace(/\p{Nd}/gu, (digit) => String(digitValue(digit)));

const isDigit = (codePoint: number): boolean => /\p{Nd}/u.test(String.fromCodePoint(codePoint));

/** Unicode assigns decimal digits in uninterrupted groups from 0 to 9. Some groups follow each other without a gap. */
function digitValue(digit: string): number {
  const codePoint = digit.codePointAt(0) ?? 0;
  let zero = codePoint;
  while (isDigit(zero - 1)) zero--;
  return (codePoint - zero) % 10;
}
