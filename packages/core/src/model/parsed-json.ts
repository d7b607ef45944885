/** The JSON object in a text; undefined if the text contains none. */
export function parsedOrUndefined(text: string): object | undefined {
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}
