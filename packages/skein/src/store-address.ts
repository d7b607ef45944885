/** Splits an address into its scheme and its place. `file:///a/b` and `file:a/b` have the same place. */
export function placeOf(url: string): { readonly scheme: string; readonly place: string } {
  const [scheme = "", ...rest] = url.split(":");
  const place = rest.join(":");
  return { scheme, place: place.startsWith("//") ? place.slice(2) : place };
}
