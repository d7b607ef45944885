import { cpSync, existsSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { type FileStore, type Moved, type Store, moveStore } from "@skein/core";
import { KnownError } from "@skein/protocol";
import { z } from "zod";
import { isStore } from "./is-store.ts";
import { makeFolder } from "./make-folder.ts";
import { moveMemories, openTarget } from "./move.ts";
import { openFiles, openServerFiles } from "./open-files.ts";
import { memoryFileOf } from "./open-memories.ts";
import { openStore } from "./open-store.ts";
import { placeOf } from "./store-address.ts";

/** The manifest of a backup. `store` is the kind of the store in the backup. */
const Manifest = z.object({ format: z.literal(1), made_at: z.iso.datetime(), store: z.enum(["sqlite", "file"]) });

const NAMES = { manifest: "backup.json", sqlite: "skein.db", file: "store", files: "files" } as const;

export interface BackedUp {
  readonly folder: string;
  readonly sessions: number;
}

export type Progress = (moved: Moved) => void;

/**
 * Makes a backup of sessions, records, agent memories and generated files in a new folder. Other processes may use the
 * store during the backup. The folder exists only when the backup is complete.
 */
export async function backup(storeUrl: string, folder: string, progress?: Progress): Promise<BackedUp> {
  const { scheme, place } = placeOf(storeUrl);
  const target = resolve(folder);
  if (existsSync(target)) throw new KnownError("already_exists", `${target} exists already. Name a new folder.`);
  const part = `${target}.part`;
  rmSync(part, { recursive: true, force: true });
  makeFolder(part);
  try {
    if (scheme === "sqlite") await copySqlite(resolve(place), part);
    else if (scheme === "file") await copyFolder(resolve(place), join(part, NAMES.file));
    else await copyOther(storeUrl, part, progress);
    const manifest = { format: 1, made_at: new Date().toISOString(), store: scheme === "file" ? "file" : "sqlite" };
    writeFileSync(join(part, NAMES.manifest), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 });
    const sessions = await sessionsIn(part);
    renameSync(part, target);
    return { folder: target, sessions };
  } catch (error) {
    rmSync(part, { recursive: true, force: true });
    throw error;
  }
}

/** Restores a backup into a new store, or into a database without sessions. Unfinished runs continue there. */
export async function restore(folder: string, storeUrl: string, progress?: Progress): Promise<BackedUp> {
  const source = resolve(folder);
  const { store: kind } = manifestIn(source);
  const { scheme, place } = placeOf(storeUrl);
  await refuseUsed(storeUrl);
  if (kind === "sqlite" && scheme === "sqlite") await bringSqlite(source, resolve(place));
  else if (kind === "file" && scheme === "file") cpSync(join(source, NAMES.file), resolve(place), { recursive: true });
  else await bringOther(source, storeUrl, progress);
  return { folder: source, sessions: await sessionsIn(source) };
}

function manifestIn(folder: string): z.infer<typeof Manifest> {
  const file = join(folder, NAMES.manifest);
  const found = existsSync(file) ? Manifest.safeParse(JSON.parse(readFileSync(file, "utf8"))) : undefined;
  if (found?.success) return found.data;
  throw new KnownError("not_found", `${folder} is not a backup. Expected a folder that "skein backup" made.`);
}

/**
 * Rejects an existing store on disk, and a database with sessions, because a restore would mix old and new sessions.
 */
async function refuseUsed(storeUrl: string): Promise<void> {
  const { scheme, place } = placeOf(storeUrl);
  const isFile = scheme === "sqlite" || scheme === "file";
  if (isFile && !existsSync(place)) return;
  const isUsed = isFile ? await isStore(storeUrl) : await withStore(storeUrl, hasSessions);
  if (isUsed || (scheme === "file" && readdirSync(place).length > 0))
    throw new KnownError(
      "already_exists",
      "There is a store at this address already. Restore into a new store, or into an empty database.",
    );
}

async function hasSessions(store: Store): Promise<boolean> {
  for await (const _ of store.scan()) return true;
  return false;
}

async function withStore<Result>(url: string, use: (store: Store) => Promise<Result>): Promise<Result> {
  const store = await openStore(url);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Copies a database with VACUUM INTO of sqlite, because the copy is consistent even if other processes write. */
async function vacuumInto(file: string, to: string): Promise<void> {
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    database.prepare("vacuum into ?").run(to);
  } finally {
    database.close();
  }
}

async function copySqlite(file: string, part: string): Promise<void> {
  await vacuumInto(file, join(part, NAMES.sqlite));
  const memory = memoryFileOf(`sqlite:${file}`);
  if (memory !== undefined && existsSync(memory)) await vacuumInto(memory, join(part, `${NAMES.sqlite}.memory`));
  const files = join(dirname(file), NAMES.files);
  if (existsSync(files)) cpSync(files, join(part, NAMES.files), { recursive: true });
}

/**
 * Copies the files of a store. Other processes may write meanwhile: logs only grow, and opening the copy cuts off an
 * incomplete last line.
 */
async function copyFolder(folder: string, to: string): Promise<void> {
  const memory = memoryFileOf(`file:${folder}`) ?? "";
  const isLeftOut = (path: string): boolean =>
    path.startsWith(memory) || (basename(path) === "lock" && dirname(path) === folder);
  cpSync(folder, to, { recursive: true, filter: (path) => !isLeftOut(path) });
  if (existsSync(memory)) await vacuumInto(memory, join(to, basename(memory)));
}

/**
 * Copies all logs, records, agent memories and generated files of a PostgreSQL store into a backup with a sqlite store.
 */
async function copyOther(storeUrl: string, part: string, progress: Progress | undefined): Promise<void> {
  const to = `sqlite:${join(part, NAMES.sqlite)}`;
  await copyAll(storeUrl, to, progress);
  const kept = await openServerFiles({ storeUrl, dataDir: part });
  try {
    await withStore(to, async (store) => copyFiles(store, kept.files, await openFiles(join(part, NAMES.files))));
  } finally {
    await kept.close();
  }
}

async function bringSqlite(source: string, file: string): Promise<void> {
  makeFolder(dirname(file));
  for (const suffix of ["", ".memory"])
    if (existsSync(join(source, NAMES.sqlite + suffix))) cpSync(join(source, NAMES.sqlite + suffix), file + suffix);
  const files = join(source, NAMES.files);
  if (existsSync(files)) cpSync(files, join(dirname(file), NAMES.files), { recursive: true });
}

async function bringOther(source: string, storeUrl: string, progress: Progress | undefined): Promise<void> {
  const { store: kind } = manifestIn(source);
  const from = `${kind}:${join(source, NAMES[kind])}`;
  await copyAll(from, storeUrl, progress);
  const files = kind === "file" ? join(source, NAMES.file, NAMES.files) : join(source, NAMES.files);
  if (!existsSync(files)) return;
  const kept = await openServerFiles({ storeUrl, dataDir: dirname(source) });
  try {
    await withStore(storeUrl, async (store) => copyFiles(store, await openFiles(files), kept.files));
  } finally {
    await kept.close();
  }
}

async function copyAll(fromUrl: string, toUrl: string, progress: Progress | undefined): Promise<void> {
  await withStore(fromUrl, async (from) => {
    const target = await openTarget(from, toUrl);
    try {
      const options = { from, targets: [target], owner: `copy:${process.pid}`, now: Date.now, takesOver: false };
      await moveStore({ ...options, ...(progress && { progress }) });
    } finally {
      await target.to.close();
    }
  });
  await moveMemories(fromUrl, toUrl);
}

/** Copies the generated files of all sessions. */
async function copyFiles(store: Store, from: FileStore, to: FileStore): Promise<void> {
  for await (const event of store.scan()) {
    if (event.event_type !== "file.stored") continue;
    const { file_id: fileId, filename, storage_path } = event.data;
    const bytes = await from.get(storage_path).catch(() => undefined);
    // The backup continues if a file is missing or is stored in another place.
    if (bytes) await to.put({ sessionId: event.session_id, fileId, filename, bytes });
  }
}

async function sessionsIn(folder: string): Promise<number> {
  const { store: kind } = manifestIn(folder);
  let sessions = 0;
  await withStore(`${kind}:${join(folder, NAMES[kind])}`, async (store) => {
    for await (const { sequence } of store.scan()) if (sequence === 1) sessions += 1;
  });
  return sessions;
}
