/** The value of a JSON text; undefined if the text is not JSON. */
export function parsedOrUndefined(text: string): object | undefined {
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}
