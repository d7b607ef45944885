/** Words that are useless for a search, because almost every text contains them. */
const COMMON = new Set(
  "a about after all also an and any are as at be been but by can could did do does for from get give had has have how i if in into is it its just let like make me more my no not now of on or our out please say so some than that the their them then there they this to up us use was we were what when where which who why will with would you your".split(
    " ",
  ),
);

/** A longer word is never searched for. */
export const LONGEST_WORD = 40;

/** The largest number of words in a search, because a prompt may be very long. */
const MOST = 32;

/** Returns the words of a prompt to search for, without duplicates. Returns no words if all words are too common. */
export function searchWords(prompt: string): readonly string[] {
  const telling = wordsOf(prompt.slice(0, 10_000)).filter((word) => word.length > 1 && word.length <= LONGEST_WORD);
  return [...new Set(telling)].filter((word) => !COMMON.has(word)).slice(0, MOST);
}

/**
 * Returns the words of a text in lower case. Words contain only letters and digits, so a word is never query syntax.
 */
export function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}
