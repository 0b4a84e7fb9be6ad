/** More words, or longer ones, would cost time without finding more weak passwords. */
const maxWords = 100;
const maxLength = 128;
const minLength = 3;

/**
 * The words in texts that belong to a user, such as their email address and names: each whole text, and its parts. The words
 * are unique and in lower case.
 */
export function ownWordsOf(texts: readonly unknown[]): string[] {
  const words = texts.flatMap((text) => {
    if (typeof text !== 'string') return [];
    const whole = text.slice(0, maxLength).toLowerCase();
    return [whole, ...whole.split(/[^\p{L}\p{N}]+/u)];
  });
  return [...new Set(words.filter((word) => word.length >= minLength))].slice(0, maxWords);
}
