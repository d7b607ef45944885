import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Operation, Stream } from "@skein/core/testing";
import pg from "pg";
import type { Cluster } from "./start-cluster.ts";

const SHOWN = 5;
const LOG_LINES = 15;

/** Reports sessions that did not end: what their reader saw, what the store has, and what Restate does. */
export async function explainUnsettled(
  cluster: Cluster,
  { operations, streams }: { readonly operations: readonly Operation[]; readonly streams: readonly Stream[] },
): Promise<readonly string[]> {
  const stuck = streams.filter(({ complete }) => !complete);
  const lines = [`${stuck.length} sessions did not end.`];
  const database = new pg.Client({ connectionString: cluster.places.postgres });
  await database.connect();
  try {
    for (const { sessionId, events } of stuck.slice(0, SHOWN)) {
      const open = operations.filter(
        (operation) => operation.sessionId === sessionId && operation.outcome === "unknown",
      );
      const { rows: heads } = await database.query<object>(
        "select h.*, clock_timestamp() as now from skein.heads h where session_id = $1",
        [sessionId],
      );
      const { rows: tail } = await database.query<{ sequence: string; event_type: string; created_at: Date }>(
        "select sequence, event_type, created_at from skein.events where session_id = $1 order by sequence desc limit 5",
        [sessionId],
      );
      lines.push(
        sessionId,
        `  its reader saw ${events.length} events, the last ${events.at(-1)?.sequence} ${events.at(-1)?.event_type}; ${open.length} requests had no answer`,
        `  the store's last events: ${tail.map(({ sequence, event_type, created_at }) => `${sequence} ${event_type} ${created_at.toISOString()}`).join(", ")}`,
        `  its head: ${JSON.stringify(heads[0])}`,
        `  Restate: ${await invocationsOf(cluster, sessionId)}`,
      );
    }
  } finally {
    await database.end();
  }
  for (const { name, hasEnded } of cluster.processes) if (hasEnded()) lines.push(`${name} ended by itself.`);
  for (const { name } of [
    ...cluster.processes,
    ...cluster.restate.nodes.map(({ name }) => ({ name: `restate/${name}` })),
  ])
    lines.push(`${name}.log:`, ...tailOf(join(cluster.folder, `${name}.log`)));
  return lines;
}

async function invocationsOf(cluster: Cluster, sessionId: string): Promise<string> {
  const answers = await Promise.all(
    cluster.restate.nodes.map(async ({ name, adminUrl }) => {
      try {
        const answer = await fetch(`${adminUrl}/query`, {
          method: "POST",
          headers: { accept: "application/json", "content-type": "application/json" },
          body: JSON.stringify({
            query: `select id, status, retry_count, last_failure, last_attempt_deployment_id, modified_at, scheduled_start_at, idempotency_key
              from sys_invocation where target_service_key = '${sessionId}' and status <> 'completed' limit 5`,
          }),
          signal: AbortSignal.timeout(5000),
        });
        return `${name} ${await answer.text()}`;
      } catch (error) {
        return `${name} ${(error as Error).message}`;
      }
    }),
  );
  return answers.join("\n           ");
}

function tailOf(file: string): readonly string[] {
  try {
    return readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .slice(-LOG_LINES)
      .map((line) => `  ${line.slice(0, 400)}`);
  } catch {
    return [];
  }
}
