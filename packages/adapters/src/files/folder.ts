import { randomUUID } from "node:crypto";
import { constants, existsSync } from "node:fs";
import { type FileHandle, access, open, opendir, realpath, rename, rm } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import type { FileStore } from "@skein/core";
import { KnownError, Uuid } from "@skein/protocol";
import { makeFolder } from "../stores/filesystem/durable-files.ts";
import { storedName } from "./safe-name.ts";

/**
 * Generated files in a folder: `{folder}/{session}/{file_id}_{filename}`, readable only by their owner.
 *
 * Several servers may share the folder and mount it at different paths: only the session and the name of a stored path
 * are used, and the file is looked up in this folder.
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
      // The file is written under another name and then renamed. So nobody sees an incomplete file, and a link with the
      // final name is replaced, not followed.
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
      // If the folder is a link, the link is removed and not followed.
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

/** The real path of a folder inside the root. A link that leads out of the root is rejected. */
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
    // The mode is set again after the creation, because the umask changes the mode that a file is created with.
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

/** The message does not contain the path, because callers over HTTP read it. */
function noFile(): KnownError {
  return new KnownError("not_found", "The folder of files does not have this file.");
}
