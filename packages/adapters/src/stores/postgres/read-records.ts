import type { ReadRecords } from "@skein/core";
import { createConnections } from "./connections.ts";
import { schemaState } from "./migrate.ts";
import { createPostgresRecords } from "./records.ts";
import { refusePooler } from "./refuse-pooler.ts";

/** Reads the records of a database without changing it. Returns undefined if the database has no store yet. */
export async function readPostgresRecords(url: string): Promise<ReadRecords | undefined> {
  const connections = createConnections({ url, poolSize: 1, readOnly: true });
  try {
    await refusePooler(connections);
    const state = await connections.withClient(schemaState);
    if (state !== "missing")
      return {
        records: createPostgresRecords(connections, Date.now),
        isOlder: state === "older",
        close: () => connections.close(),
      };
  } catch (error) {
    await connections.close();
    throw error;
  }
  await connections.close();
  return undefined;
}
