/** Returns a test for names: a regular expression in any case, or a text where it is none. */
export function matcher(words: string): (name: string) => boolean {
  try {
    const expression = new RegExp(words, "i");
    return (name) => expression.test(name);
  } catch {
    const plain = words.toLowerCase();
    return (name) => name.toLowerCase().includes(plain);
  }
}

/** Returns the expression that finds this name alone. */
export const exactly = (name: string): string => `^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;
