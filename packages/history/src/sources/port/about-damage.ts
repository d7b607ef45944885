/** The beginning of a sentence about damage. The sentence replaces the damaged text. */
export const aboutDamage = "skein: ";
