/** Which tables a statement may need, as far as its words tell. Too many is slower, too few would be wrong. */

/** The platform's. */
export function namesPlatform(sql: string): boolean {
  return /\b"?(platform|agent|api)"?\s*\.|\ball_(sessions|messages|usage)\b/i.test(sql);
}

/** Those of the files beside the transcripts. */
export function namesSmallFiles(sql: string): boolean {
  return /plans|todos|history|stats|tasks|sessions|agents/i.test(sql);
}
