import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { FileStore } from "@skein/core";
import { KnownError, isKnownError } from "@skein/protocol";
import { type S3Config, readConfig } from "./config.ts";
import { placeOf } from "./store-address.ts";
import { loadPart } from "./optional-parts.ts";

/** An open store of generated files. */
export interface OpenFiles {
  readonly files: FileStore;
  close(): Promise<void>;
}

/**
 * Opens the storage of generated files at a folder, `file:FOLDER` or `s3://BUCKET/PREFIX`. The settings of S3 come from
 * the standard `AWS_…` variables.
 */
export async function openFiles(address: string, s3: S3Config = readConfig().s3): Promise<FileStore> {
  checkFiles(address, s3);
  if (!address.startsWith("s3://")) return folderOf(resolve(folderIn(address)));
  const { createS3FileStore } = await import("@skein/adapters/files/s3");
  const [bucket = "", ...prefix] = address.slice("s3://".length).replace(/\/+$/, "").split("/");
  const { accessKeyId = "", secretAccessKey = "", sessionToken, region = "us-east-1" } = s3;
  return createS3FileStore({
    endpoint: s3.endpoint ?? `https://s3.${region}.amazonaws.com`,
    bucket,
    accessKeyId,
    secretAccessKey,
    region,
    ...(sessionToken !== undefined && { sessionToken }),
    ...(prefix.length > 0 && { prefix: prefix.join("/") }),
  });
}

/** Rejects an invalid address. */
export function checkFiles(address: string, s3: S3Config): void {
  const scheme = /^([a-z][a-z0-9+.-]+):/.exec(address)?.[1];
  if (scheme === "s3") {
    if (!/^s3:\/\/[a-z0-9][a-z0-9.-]{1,62}(\/|$)/.test(address))
      throw new KnownError("invalid", `"${address}" names no bucket. Expected s3://BUCKET or s3://BUCKET/PREFIX.`);
    if (s3.accessKeyId === undefined || s3.secretAccessKey === undefined)
      throw new KnownError("invalid", `${address} needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.`);
    if (s3.endpoint !== undefined && !/^https?:$/.test(URL.parse(s3.endpoint)?.protocol ?? ""))
      throw new KnownError("invalid", "AWS_ENDPOINT_URL_S3 is not an http or https address.");
    return;
  }
  if ((scheme !== undefined && scheme !== "file") || folderIn(address) === "")
    throw new KnownError("invalid", `"${address}" is not a place for files. Expected a folder or s3://BUCKET/PREFIX.`);
}

// The adapter is loaded only when it is used, because many agents make no files.
async function folderOf(folder: string): Promise<FileStore> {
  const { createFolderFileStore } = await import("@skein/adapters/files/folder");
  return createFolderFileStore({ folder });
}

export function folderIn(address: string): string {
  return address.startsWith("file:") ? placeOf(address).place : address;
}

/**
 * Opens the storage for generated files of a server. Default: beside the sessions, so that all servers on the same
 * store read the same files.
 */
export async function openServerFiles(options: {
  readonly filesUrl?: string | undefined;
  readonly storeUrl: string;
  readonly dataDir: string;
  readonly s3?: S3Config;
}): Promise<OpenFiles> {
  const { filesUrl, storeUrl, dataDir, s3 } = options;
  const before = join(dataDir, "files");
  const place = filesUrl ?? folderBeside(storeUrl, dataDir);
  if (place !== undefined)
    return { files: await withEarlier(await openFiles(place, s3), before, place), close: async () => {} };
  const { createPostgresFileStore } = await loadPart.postgresFiles();
  const files = createPostgresFileStore({ url: storeUrl });
  return { files: await withEarlier(files, before, storeUrl), close: () => files.close() };
}

/**
 * Returns the folder for generated files beside a store on disk. Returns undefined for PostgreSQL, because the database
 * stores generated files.
 */
function folderBeside(storeUrl: string, dataDir: string): string | undefined {
  const { scheme, place } = placeOf(storeUrl);
  if (scheme === "sqlite") return join(dirname(resolve(place)), "files");
  if (scheme === "file") return join(resolve(place), "files");
  return scheme === "memory" ? join(dataDir, "files") : undefined;
}

/**
 * Adds a second place for reading and deleting: the data folder, where an earlier version stored generated files.
 */
async function withEarlier(files: FileStore, before: string, now: string): Promise<FileStore> {
  if (!existsSync(before) || resolve(before) === resolve(folderIn(now))) return files;
  const earlier = await folderOf(before);
  return {
    ...files,
    async get(storagePath) {
      try {
        return await files.get(storagePath);
      } catch (error) {
        if (!isKnownError(error, "not_found", "invalid")) throw error;
        return earlier.get(storagePath);
      }
    },
    async deleteSession(sessionId) {
      await earlier.deleteSession?.(sessionId);
      await files.deleteSession?.(sessionId);
    },
  };
}
