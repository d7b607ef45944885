import type { Client } from "@skein/client";

/**
 * How a browser logs in. The key comes once, in the part of the printed link that browsers do not send (`/#key=…`), or it is
 * typed. It is sent to the server once, which answers with a cookie that no script can read; the page keeps no key.
 */

/** The key of the link, which is taken out of the address at once. */
export function takeKey(): string | undefined {
  const given = new URLSearchParams(location.hash.slice(1)).get("key");
  if (given === null || given === "") return undefined;
  history.replaceState(null, "", location.pathname + location.search);
  return given;
}

export async function logIn(client: Client, key: string): Promise<void> {
  await client.login({ body: { key } });
}

/** Ends the login at the server. A server that cannot be reached forgets it within 12 hours. */
export async function logOut(client: Client): Promise<void> {
  await client.logout().catch(() => undefined);
}
