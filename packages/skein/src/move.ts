import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { type MoveTarget, type Moved, type MovingClock, type Store, moveStore } from "@skein/core";
import { KnownError } from "@skein/protocol";
import { fullTextMemory, memoryFileOf } from "./open-memories.ts";
import { openStore } from "./open-store.ts";
import { placeOf } from "./store-address.ts";

export interface MovedAll extends Moved {
  memories: number;
}

/** The number of memories in one write. */
const BATCH = 200;

/** How many sessions are written at the same time. Only PostgreSQL is faster with several connections. */
const AT_ONCE = { postgres: 4, postgresql: 4 } as Readonly<Record<string, number>>;

/** Moves sessions, records and agent memories from one store to another. */
export async function move(fromUrl: string, toUrl: string, progress?: (moved: Moved) => void): Promise<MovedAll> {
  const from = await openStore(fromUrl);
  const targets: MoveTarget[] = [];
  try {
    for (let i = 0; i < (AT_ONCE[placeOf(toUrl).scheme] ?? 1); i++) targets.push(await openTarget(from, toUrl));
    const owner = `move:${process.pid}`;
    const moved = await moveStore({ from, targets, owner, now: Date.now, ...(progress && { progress }) });
    return { ...moved, memories: await moveMemories(fromUrl, toUrl) };
  } finally {
    await Promise.all([from, ...targets.map(({ to }) => to)].map((store) => store.close()));
  }
}

export async function openTarget(from: Store, url: string): Promise<MoveTarget> {
  const clock: MovingClock = { at: null };
  const to = await openStore(url, { now: () => clock.at ?? Date.now() });
  try {
    await refuseSame(from, to);
    return { clock, to };
  } catch (error) {
    await to.close();
    throw error;
  }
}

/**
 * Rejects two addresses of the same store, because a move would pause its runs for ever. Writes a record to `to`, and
 * tries to read it from `from`.
 */
async function refuseSame(from: Store, to: Store): Promise<void> {
  const mark = { tenant: "$move", kind: "mark", id: randomUUID() };
  await to.records.put([{ ...mark, value: null }]);
  const isSame = (await from.records.get(mark.tenant, mark.kind, mark.id)) !== undefined;
  await to.records.delete(mark.tenant, mark.kind, mark.id);
  if (isSame) throw new KnownError("invalid", "FROM and TO are the same store.");
}

/** Copies all memories. A second copy of the same memory changes nothing. */
export async function moveMemories(fromUrl: string, toUrl: string): Promise<number> {
  const file = memoryFileOf(fromUrl);
  if (file !== undefined && !existsSync(file)) return 0;
  const from = await fullTextMemory(fromUrl);
  const to = await fullTextMemory(toUrl);
  try {
    let count = 0;
    for await (const rows of batches(from.all())) {
      await to.keep(rows);
      count += rows.length;
    }
    return count;
  } finally {
    await Promise.all([from.close(), to.close()]);
  }
}

async function* batches<Item>(items: AsyncIterable<Item>): AsyncIterable<readonly Item[]> {
  let batch: Item[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
