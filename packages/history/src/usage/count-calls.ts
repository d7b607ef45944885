/** Counts calls across files: a copy in a later file (a resume, a fork) only raises the counters of the first. */
import { priceCall, WEB_SEARCH_MICROS } from "@skein/protocol";
import type { DataFile } from "../discover/data-file.ts";
import type { Folded } from "../facets/fold-files.ts";
import type { FileUsage } from "./file-usage.ts";
import type { PricedCall } from "./tally.ts";
import { column, isSameCall, numbersOf, raise, valueOf, type UsageTable } from "./usage-table.ts";

/** Whose call it is. Subagents' calls are their parents'. */
export interface Owner {
  readonly sessionId: string;
  readonly projectPath: string;
  readonly costStateUsd: number | null;
}

/** Hands out every call once, with its price and its owner. */
export function countCalls(
  folded: readonly Folded<FileUsage>[],
  onCall: (call: PricedCall, owner: Owner) => void,
): void {
  const ordered = folded
    .map(({ file, state }) => ({ file, state, since: earliest(state) }))
    .sort((a, b) => a.since - b.since || (a.file.path < b.file.path ? -1 : 1));
  const owners = ownersOf(ordered);
  const copies = mergeCopies(ordered.map(({ state }) => state.table));
  const seen = new Set<string>();
  ordered.forEach(({ file, state: { table, searches } }, at) => {
    const owner = owners.get(file);
    if (!owner) return;
    const hidden = copies.get(at);
    let counted = 0;
    for (let row = 0; row < table.ids.length; row += 1) {
      if (hidden?.has(row)) continue;
      counted += valueOf(table, row, column.searches);
      onCall(pricedCall(table, row), owner);
    }
    if (counted > 0) return;
    for (const [uuid, { time, count }] of searches) {
      if (seen.has(uuid)) continue;
      seen.add(uuid);
      onCall(searchFee(time, count), owner);
    }
  });
}

/** The rows of each table that are copies of a row in an earlier one. Their counters are merged into that one. */
function mergeCopies(tables: readonly UsageTable[]): ReadonlyMap<number, ReadonlySet<number>> {
  const first = new Map<string, number>();
  const hidden = new Map<number, Set<number>>();
  const numbers = new Float64Array(10);
  tables.forEach((table, at) => {
    for (const [id, firstRow] of table.rows) {
      const earlier = first.get(id);
      if (earlier === undefined) {
        first.set(id, at);
        continue;
      }
      const target = tables[earlier];
      if (!target) continue;
      for (let row: number | undefined = firstRow; row !== undefined; row = table.next.get(row)) {
        const twin = twinOf(target, id, table, row);
        if (twin === undefined) continue;
        raise(target, twin, numbersOf(table, row, numbers));
        const rows = hidden.get(at) ?? new Set();
        hidden.set(at, rows.add(row));
      }
    }
  });
  return hidden;
}

function twinOf(target: UsageTable, id: string, table: UsageTable, row: number): number | undefined {
  const requestId = table.requestIds[row] ?? "";
  const flags = valueOf(table, row, column.flags);
  for (let twin = target.rows.get(id); twin !== undefined; twin = target.next.get(twin)) {
    if (isSameCall(target, twin, requestId, flags)) return twin;
  }
  return undefined;
}

function ownersOf(ordered: readonly Folded<FileUsage>[]): ReadonlyMap<DataFile, Owner> {
  const bySession = new Map<string, Owner>();
  const keyOf = (file: DataFile, sessionId: string): string => `${file.root}\0${file.encodedPath}\0${sessionId}`;
  for (const { file, state } of ordered) {
    if (file.kind !== "session" || file.sessionId === undefined) continue;
    const { sessionId, encodedPath } = file;
    const { cwd, costStateUsd } = state;
    bySession.set(keyOf(file, sessionId), { sessionId, projectPath: cwd || encodedPath, costStateUsd });
  }
  const owners = new Map<DataFile, Owner>();
  for (const { file, state } of ordered) {
    const sessionId = file.sessionId ?? state.sessionId;
    const key = keyOf(file, sessionId);
    const owner = bySession.get(key) ?? { sessionId, projectPath: state.cwd || file.encodedPath, costStateUsd: null };
    bySession.set(key, owner);
    owners.set(file, owner);
  }
  return owners;
}

function earliest({ table }: FileUsage): number {
  let first = Number.POSITIVE_INFINITY;
  for (let row = 0; row < table.ids.length; row += 1) {
    const time = valueOf(table, row, column.time);
    if (time > 0 && time < first) first = time;
  }
  // Infinity minus Infinity is no order.
  return Number.isFinite(first) ? first : Number.MAX_SAFE_INTEGER;
}

function pricedCall(table: UsageTable, row: number): PricedCall {
  const model = table.models[valueOf(table, row, column.model)] ?? "";
  const write5m = valueOf(table, row, column.cacheWrite5m);
  const write1h = valueOf(table, row, column.cacheWrite1h);
  const cacheWrite = valueOf(table, row, column.cacheWrite);
  const input = valueOf(table, row, column.input);
  const output = valueOf(table, row, column.output);
  const cacheRead = valueOf(table, row, column.cacheRead);
  const searches = valueOf(table, row, column.searches);
  const cost = priceCall(model, {
    input_tokens: input,
    output_tokens: output,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    cache_creation: { ephemeral_5m_input_tokens: write5m, ephemeral_1h_input_tokens: write1h },
    server_tool_use: { web_search_requests: searches },
    speed: (valueOf(table, row, column.flags) & 1) === 0 ? "standard" : "fast",
  });
  return {
    time: valueOf(table, row, column.time),
    model,
    inputTokens: input,
    outputTokens: output,
    cacheCreationInputTokens: cacheWrite,
    cacheCreation1hInputTokens: write5m + write1h === cacheWrite ? write1h : 0,
    cacheReadInputTokens: cacheRead,
    webSearchRequests: searches,
    calls: 1,
    costMicros: cost?.total_micros,
  };
}

/** The search itself, without the call of a small model that made it, which no transcript has. */
function searchFee(time: number, count: number): PricedCall {
  return {
    time,
    model: "web-search",
    inputTokens: 0,
    outputTokens: 0,
    cacheCreationInputTokens: 0,
    cacheCreation1hInputTokens: 0,
    cacheReadInputTokens: 0,
    webSearchRequests: count,
    calls: 0,
    costMicros: count * WEB_SEARCH_MICROS,
  };
}
