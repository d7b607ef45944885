/**
 * Who the console calls as. The key comes once in the part of the printed link that browsers do not send (`/#key=…`), or is
 * typed; it is kept for this tab until the server gives out cookies (NEEDS.md), and is never in the address again.
 */
const PLACE = "skein.key";

/** The key of this tab: from the link if it has one, which is then taken out of the address. */
export function takeKey(): string | undefined {
  const given = new URLSearchParams(location.hash.slice(1)).get("key");
  if (given !== null && given !== "") {
    history.replaceState(null, "", location.pathname + location.search);
    keepKey(given);
    return given;
  }
  return sessionStorage.getItem(PLACE) ?? undefined;
}

export function keepKey(key: string): void {
  sessionStorage.setItem(PLACE, key);
}

export function forgetKey(): void {
  sessionStorage.removeItem(PLACE);
}
