/** Words that are in every text and so say nothing about one. */
const COMMON = new Set(
  "a about after all also an and any are as at be been but by can could did do does for from get give had has have how i if in into is it its just let like make me more my no not now of on or our out please say so some than that the their them then there they this to up us use was we were what when where which who why will with would you your".split(
    " ",
  ),
);

/** Terms of a search at most: a prompt may be a book. */
const TERMS = 32;

/**
 * What to look for, in the language of FTS5: any of the prompt's own words. Each is quoted, so nothing of it is syntax.
 *
 * Undefined when it has no word worth looking for.
 */
export function queryOf(prompt: string): string | undefined {
  const words =
    prompt
      .slice(0, 10_000)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  const telling = words.filter((word) => word.length > 1 && word.length <= 40 && !COMMON.has(word));
  const terms = [...new Set(telling)].slice(0, TERMS);
  return terms.length === 0 ? undefined : terms.map((term) => `"${term}"`).join(" OR ");
}
