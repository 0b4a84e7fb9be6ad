/** More or longer words add work and catch no further passwords. */
const maxWords = 100;
const maxLength = 128;
const minLength = 3;

/**
 * The words of texts that belong to a user, such as their address and names: each text as a whole, and its parts. In lower
 * case, each once.
 */
export function ownWordsOf(texts: readonly unknown[]): string[] {
  const words = texts.flatMap((text) => {
    if (typeof text !== 'string') return [];
    const whole = text.slice(0, maxLength).toLowerCase();
    return [whole, ...whole.split(/[^\p{L}\p{N}]+/u)];
  });
  return [...new Set(words.filter((word) => word.length >= minLength))].slice(0, maxWords);
}
