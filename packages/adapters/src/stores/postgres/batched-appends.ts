import { isKnownError } from "@skein/protocol";
import type { Connections } from "./connections.ts";
import type { Query, Statement } from "./query.ts";

/**
 * The number of connections that only append, so that writes do not wait for reads. Appends that find all connections
 * busy share the next transaction and its disk flush.
 */
const CONNECTIONS = 4;
const MOST_PER_TRANSACTION = 16;
const PARAMETERS = 38;

/** The parameters of one call of `skein.append`. The first parameter is the session. */
export interface AppendCall {
  readonly sessionId: string;
  readonly values: readonly unknown[];
  /**
   * Whether the call locks an idempotency key or a blob (a large event body) in addition to its session's head. Such a
   * call never shares a transaction.
   */
  readonly alone: boolean;
}

interface Waiting extends AppendCall {
  readonly resolve: (answer: string) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Sends appends, several in one transaction when many come at the same time.
 *
 * A rejected append does not affect the other appends of its transaction. If the transaction fails, none of its appends
 * is stored. Each append is then tried again alone, so that only the failing append is rejected. An append whose events
 * are already stored is tried once more, and returns the stored events. Sessions are locked in the order of their ids,
 * so two transactions cannot deadlock. Appends with an idempotency key or a blob take more locks, so each of them has a
 * separate transaction.
 */
export function createBatchedAppends(connections: Connections): (call: AppendCall) => Promise<string> {
  let queue: Waiting[] = [];
  const free = Array.from({ length: CONNECTIONS }, () => connections.own());

  function pump(): void {
    while (queue.length > 0) {
      const connection = free.pop();
      if (!connection) return;
      void send(connection, take()).finally(() => {
        free.push(connection);
        pump();
      });
    }
  }

  function take(): readonly Waiting[] {
    const [first] = queue;
    const batch = first?.alone ? [first] : queue.filter(({ alone }) => !alone).slice(0, MOST_PER_TRANSACTION);
    const taken = new Set(batch);
    queue = queue.filter((call) => !taken.has(call));
    // All transactions lock sessions in the order of their ids, so that two transactions never wait for each other.
    return batch.toSorted((a, b) => (a.sessionId < b.sessionId ? -1 : Number(a.sessionId > b.sessionId)));
  }

  async function send(connection: Query, batch: readonly Waiting[], isLast = false): Promise<void> {
    try {
      const rows = await connection(
        statement(batch.length),
        batch.flatMap(({ values }) => values),
      );
      for (const [index, { resolve }] of batch.entries()) resolve(rows[index]?.[0] ?? "");
    } catch (error) {
      const [only, ...others] = batch;
      if (!only) return;
      const final = others.length === 0 && (isLast || !isKnownError(error, "already_exists"));
      if (final || isKnownError(error, "store_unavailable", "closed")) for (const { reject } of batch) reject(error);
      else for (const call of batch) await send(connection, [call], others.length === 0);
    }
  }

  return (call) =>
    new Promise((resolve, reject) => {
      queue.push({ ...call, resolve, reject });
      pump();
    });
}

const statements = new Map<number, Statement>();

/**
 * Returns a statement with `count` appends. They run one after another, and each append sees the changes of earlier
 * appends.
 */
function statement(count: number): Statement {
  const known = statements.get(count);
  if (known) return known;
  const branches = Array.from({ length: count }, (_, index) => {
    const parameters = Array.from({ length: PARAMETERS }, (__, place) => `$${index * PARAMETERS + place + 1}`);
    return `select skein.append(${parameters.join(", ")})`;
  });
  // The statement is `patient`, because an import is one append and may have a hundred thousand events.
  const made = { name: `skein-append-${count}`, text: branches.join("\nunion all\n"), patient: true };
  statements.set(count, made);
  return made;
}
