import type { Client } from "@skein/client";

/**
 * How a browser logs in. The user types the key, or opens the link that `skein serve` prints. In the link, the key
 * follows `#`, and browsers do not send this part. The page sends the key to the server once, and does not keep it.
 * The server answers with a cookie that no script can read.
 */

/** Returns the key of the link, and removes it from the URL immediately. */
export function takeKey(): string | undefined {
  const given = new URLSearchParams(location.hash.slice(1)).get("key");
  if (given === null || given === "") return undefined;
  history.replaceState(null, "", location.pathname + location.search);
  return given;
}

/** This item of the local storage says that the browser has logged in, because the page cannot see the cookie. */
const MARK = "skein.login";

/** Whether this browser has logged in before. Its cookie may have expired. */
export function hasLoggedIn(): boolean {
  return localStorage.getItem(MARK) !== null;
}

export async function logIn(client: Client, key: string): Promise<void> {
  await client.login({ body: { key } });
  localStorage.setItem(MARK, "1");
}

/** Ends the login at the server. If the server cannot be reached, the login expires within 12 hours. */
export async function logOut(client: Client): Promise<void> {
  forgetLogin();
  await client.logout().catch(() => undefined);
}

/** Forgets that this browser has logged in. */
export function forgetLogin(): void {
  localStorage.removeItem(MARK);
}
