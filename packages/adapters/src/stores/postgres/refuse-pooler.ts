import { KnownError } from "@skein/protocol";
import type pg from "pg";
import type { Connections } from "./connections.ts";

/**
 * Rejects a pooler that shares one server connection between several clients, as PgBouncer does in transaction mode.
 * Behind such a pooler, LISTEN, advisory locks and prepared statements would be lost without an error. The check opens
 * two connections. Without a pooler, their server processes always differ.
 */
export async function refusePooler(connections: Connections): Promise<void> {
  await connections.withClient(async (first) => {
    const second = connections.dedicated();
    second.on("error", () => {});
    await second.connect();
    try {
      if ((await processOf(first)) !== (await processOf(second))) return;
    } finally {
      await second.end();
    }
    throw new KnownError(
      "invalid",
      "The address of PostgreSQL leads to a connection pooler in transaction mode. Set its pool_mode to session, or connect to PostgreSQL directly.",
    );
  });
}

async function processOf(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ process: number }>("select pg_backend_pid() as process");
  return rows[0]?.process ?? 0;
}
