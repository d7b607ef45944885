/** What an address says: which kind of store, and where. `file:///a/b` and `file:a/b` mean the same place. */
export function placeOf(url: string): { readonly scheme: string; readonly place: string } {
  const [scheme = "", ...rest] = url.split(":");
  const place = rest.join(":");
  return { scheme, place: place.startsWith("//") ? place.slice(2) : place };
}
