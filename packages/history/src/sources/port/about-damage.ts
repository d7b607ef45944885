/** The beginning of each sentence about damage that Skein writes into a translated transcript. */
export const aboutDamage = "skein: ";
