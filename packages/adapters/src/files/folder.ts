import { randomUUID } from "node:crypto";
import { constants, existsSync } from "node:fs";
import { type FileHandle, access, open, opendir, realpath, rename, rm } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import type { FileStore } from "@skein/core";
import { KnownError, Uuid } from "@skein/protocol";
import { makeFolder } from "../stores/filesystem/durable-files.ts";
import { storedName } from "./safe-name.ts";

/**
 * Stores generated files in a folder as `{folder}/{session}/{file_id}_{filename}`. Only the owner of the files can read
 * them.
 *
 * Several servers may share the folder and mount it at different paths. So `get` ignores the folder of a stored path
 * and uses only its session and name.
 */
export function createFolderFileStore({ folder }: { readonly folder: string }): FileStore {
  const root = resolve(folder);

  return {
    async put({ sessionId, fileId, filename, bytes }) {
      if (!Uuid.safeParse(sessionId).success)
        throw new KnownError("invalid", `"${sessionId}" is not the id of a session. Expected a UUID.`);
      const place = join(root, sessionId);
      makeFolder(place);
      const inside = await confined(root, place);
      const target = join(inside, storedName(fileId, filename));
      // The file is written under another name and then renamed, so that nobody sees an incomplete file. If the final
      // name is a link, the rename replaces the link and does not follow it.
      const partial = join(inside, `.${randomUUID()}.part`);
      try {
        await writeAll(partial, bytes);
        await rename(partial, target);
      } catch (error) {
        await rm(partial, { force: true });
        throw error;
      }
      await syncFolder(inside);
      return { storagePath: join(place, storedName(fileId, filename)) };
    },
    async get(storagePath) {
      const [sessionId = "", name = ""] = storagePath.split(/[\\/]/).slice(-2);
      if (!Uuid.safeParse(sessionId).success || name === "" || name === "..") throw outside();
      const inside = await confined(root, join(root, sessionId));
      const file = await opened(join(inside, name));
      try {
        if (!(await file.stat()).isFile()) throw noFile();
        return new Uint8Array(await file.readFile());
      } finally {
        await file.close();
      }
    },
    async deleteSession(sessionId) {
      if (!Uuid.safeParse(sessionId).success) return;
      // `rm` removes a link but does not follow it.
      await rm(join(root, sessionId), { recursive: true, force: true });
    },
    async check() {
      if (!existsSync(root)) return;
      await access(root, constants.W_OK | constants.X_OK).catch((error: unknown) => {
        throw new KnownError(
          "files_unavailable",
          "The server cannot write to its folder of files. Make the folder in SKEIN_FILES writable for the user of the server.",
          { cause: error },
        );
      });
    },
    async *sessions() {
      if (!existsSync(root)) return;
      for await (const { name } of await opendir(root)) if (Uuid.safeParse(name).success) yield name;
    },
  };
}

/** Returns the real path of a folder inside the root. Rejects a link out of the root. */
async function confined(root: string, place: string): Promise<string> {
  const [realRoot, real] = await Promise.all([realpath(root), realpath(place)]).catch(() => {
    throw noFile();
  });
  if (!(real + sep).startsWith(realRoot + sep)) throw outside();
  return real;
}

function outside(): KnownError {
  return new KnownError("invalid", "The path of a file must be inside the session's folder of files.");
}

async function opened(path: string): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    throw noFile();
  }
}

async function writeAll(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    // The umask may have changed the mode at the creation.
    await file.chmod(0o600);
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Returns an error without the path, because callers over HTTP read its message. */
function noFile(): KnownError {
  return new KnownError("not_found", "The folder of files does not have this file.");
}
