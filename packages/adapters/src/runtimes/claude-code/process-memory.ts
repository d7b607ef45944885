import { readFile, readdir } from "node:fs/promises";

const PAGE_BYTES = 4096;

/**
 * Returns the memory of these processes and their descendants, in bytes. A memory page that several of these processes
 * share is counted once, because two thirds of the memory of a Claude Code process are its program. Returns undefined
 * if the system reports no memory for them.
 */
export async function memoryOf(pids: readonly number[]): Promise<number | undefined> {
  const sizes = await Promise.all(pids.map(sizeOfTree));
  const known = sizes.filter((size) => size !== undefined);
  return pids.length > 0 && known.length === 0 ? undefined : known.reduce((sum, size) => sum + size, 0);
}

async function sizeOfTree(pid: number): Promise<number | undefined> {
  const below = childrenOf(pid).then((pids) => Promise.all(pids.map(sizeOfTree)));
  const [own, children] = await Promise.all([sizeOf(pid), below]);
  if (own === undefined) return undefined;
  return children.reduce<number>((sum, size) => sum + (size ?? 0), own);
}

async function sizeOf(pid: number): Promise<number | undefined> {
  const [, share] = /^Pss:\s+(\d+) kB/m.exec(await textOf(`/proc/${pid}/smaps_rollup`)) ?? [];
  if (share !== undefined) return Number(share) * 1024;
  // For a process of another user, only the resident size can be read. It includes shared pages in full.
  const [, resident] = (await textOf(`/proc/${pid}/statm`)).split(" ");
  return resident === undefined ? undefined : Number(resident) * PAGE_BYTES;
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(threads.map((thread) => textOf(`/proc/${pid}/task/${thread}/children`)));
  return lists.flatMap((list) => list.split(" ").filter(Boolean).map(Number));
}

/**
 * Reads a file of a process. Returns an empty text if the file cannot be read, for example because the process has
 * ended.
 */
async function textOf(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
