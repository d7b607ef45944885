import { statfs } from "node:fs/promises";
import { KnownError } from "@skein/protocol";

/** The smallest free space in bytes. With less, the next prompt and its answer may not fit. */
const ROOM_BYTES = 1024 * 1024;

/** Rejects with `disk_full` if a folder's disk has no room for appends. */
export async function checkRoom(folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < ROOM_BYTES) throw new KnownError("disk_full", "The disk of the store is full.");
}
