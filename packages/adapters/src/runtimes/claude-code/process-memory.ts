import { readFile, readdir } from "node:fs/promises";

const PAGE_BYTES = 4096;

/**
 * The memory of these processes and of all that they started, in bytes. Pages that several of them share count once: two thirds
 * of a process of Claude Code are its program. Undefined where the system does not say it.
 */
export async function memoryOf(pids: readonly number[]): Promise<number | undefined> {
  const sizes = await Promise.all(pids.map(sizeOfTree));
  const known = sizes.filter((size) => size !== undefined);
  return pids.length > 0 && known.length === 0 ? undefined : known.reduce((sum, size) => sum + size, 0);
}

async function sizeOfTree(pid: number): Promise<number | undefined> {
  const own = await sizeOf(pid);
  if (own === undefined) return undefined;
  const children = await Promise.all((await childrenOf(pid)).map(sizeOfTree));
  return children.reduce<number>((sum, size) => sum + (size ?? 0), own);
}

async function sizeOf(pid: number): Promise<number | undefined> {
  const [, share] = /^Pss:\s+(\d+) kB/m.exec(await textOf(`/proc/${pid}/smaps_rollup`)) ?? [];
  if (share !== undefined) return Number(share) * 1024;
  // Another user's process says only how much of it is in memory.
  const [, resident] = (await textOf(`/proc/${pid}/statm`)).split(" ");
  return resident === undefined ? undefined : Number(resident) * PAGE_BYTES;
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(threads.map((thread) => textOf(`/proc/${pid}/task/${thread}/children`)));
  return lists.flatMap((list) => list.split(" ").filter(Boolean).map(Number));
}

/** Empty for a process that is gone. */
async function textOf(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
