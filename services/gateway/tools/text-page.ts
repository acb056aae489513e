/** A piece of a long text, by characters. */

export interface TextPage {
  text: string;
  /** Where the next page begins; null at the end. */
  next: number | null;
}

/** At most `limit` characters from `offset`; never half of a character that takes two. */
export function textPage(text: string, offset: number, limit: number): TextPage {
  let end = Math.min(text.length, offset + limit);
  const code = text.charCodeAt(end - 1);
  const splitsPair = end < text.length && end - offset > 1 && code >= 0xd800 && code <= 0xdbff;
  if (splitsPair) end -= 1;
  return { text: text.slice(offset, end), next: end < text.length ? end : null };
}
