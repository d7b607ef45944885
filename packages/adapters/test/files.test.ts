import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createFolderFileStore } from "@skein/adapters/files/folder";
import { createPostgresFileStore } from "@skein/adapters/files/postgres";
import { createS3FileStore } from "@skein/adapters/files/s3";
import type { FileStore } from "@skein/core";
import S3rver from "s3rver";
import { afterAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { createDatabase } from "../../../scripts/postgres.ts";
import { isSignedWith } from "./files-signature.ts";

const sessionId = "01a1de6b-ce85-73e6-957e-30f2af6e7b70";
const bytes = new TextEncoder().encode("chart");

async function tempFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "skein-files-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function bucket(): Promise<FileStore> {
  const server = new S3rver({
    port: 0,
    address: "127.0.0.1",
    silent: true,
    directory: await tempFolder(),
    configureBuckets: [{ name: "agent-data", configs: [] }],
  });
  const { port } = await server.run();
  onTestFinished(() => server.close());
  const keys = { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" };
  return createS3FileStore({ endpoint: `http://127.0.0.1:${port}`, bucket: "agent-data", prefix: "files", ...keys });
}

/** The database of all tests. Every test writes the same few rows. */
let database: Awaited<ReturnType<typeof createDatabase>> | undefined;
afterAll(() => database?.drop());

async function table(): Promise<FileStore> {
  const postgres = inject("postgres");
  database ??= await createDatabase(postgres.url, { template: postgres.template });
  const files = createPostgresFileStore({ url: database.url });
  onTestFinished(() => files.close());
  return files;
}

const FILE_STORES: readonly (readonly [string, () => Promise<FileStore>])[] = [
  ["folder", async () => createFolderFileStore({ folder: join(await tempFolder(), "files") })],
  ["s3", () => bucket()],
  ["postgres", () => table()],
];

const NAMES: readonly (readonly [string, string])[] = [
  ["chart.png", "file_1_chart.png"],
  ["../../x", "file_1_x"],
  ["/etc/passwd", "file_1_passwd"],
  ["a\0b", "file_1_a_b"],
  ["..%2fx", "file_1__2fx"],
  ["C:\\x.txt", "file_1_x.txt"],
  ["CON", "file_1_CON"],
  ["-rf", "file_1_-rf"],
  ["..", "file_1_file"],
  ["", "file_1_file"],
  ["a b 'ü' & 日本.csv", "file_1_a b 'ü' & 日本.csv"],
  ["x\r\ny", "file_1_x__y"],
];

describe.each(FILE_STORES)("files: %s", (_, open) => {
  test("a stored file has the same bytes when it is read", async () => {
    const files = await open();
    const { storagePath } = await files.put({ sessionId, fileId: "file_1", filename: "chart.png", bytes });
    expect(await files.get(storagePath)).toEqual(bytes);
    await files.put({ sessionId, fileId: "file_1", filename: "chart.png", bytes: new Uint8Array([0, 255]) });
    expect(await files.get(storagePath)).toEqual(new Uint8Array([0, 255]));
  });

  test.each(NAMES)("a file called %j is stored under a safe name", async (filename, expected) => {
    const files = await open();
    const { storagePath } = await files.put({ sessionId, fileId: "file_1", filename, bytes });
    expect(basename(storagePath)).toBe(expected);
    expect(await files.get(storagePath)).toEqual(bytes);
  });

  test("a name of 3,000 bytes is shortened without cutting its extension or a character", async () => {
    const files = await open();
    const put = await files.put({ sessionId, fileId: "file_1", filename: `${"日".repeat(1000)}.xlsx`, bytes });
    expect(Buffer.byteLength(basename(put.storagePath))).toBeLessThan(255);
    expect(basename(put.storagePath)).toMatch(/^file_1_日+\.xlsx$/);
    expect(await files.get(put.storagePath)).toEqual(bytes);
  });

  test("a long id with a long name is stored under a name of at most 255 bytes", async () => {
    const files = await open();
    const put = await files.put({ sessionId, fileId: "a".repeat(100), filename: "b".repeat(300), bytes });
    expect(Buffer.byteLength(basename(put.storagePath))).toBeLessThanOrEqual(255);
    expect(await files.get(put.storagePath)).toEqual(bytes);
    const largeText = `text-${"a".repeat(64)}`;
    const { storagePath } = await files.put({ sessionId, fileId: largeText, filename: "body.txt", bytes });
    expect(basename(storagePath)).toBe(`${largeText}_body.txt`);
  });

  test("an id that is a path is replaced by its hash, and different ids stay different", async () => {
    const files = await open();
    const one = await files.put({ sessionId, fileId: "../../a", filename: "x", bytes });
    const two = await files.put({ sessionId, fileId: "../../b", filename: "x", bytes });
    expect(basename(one.storagePath)).toMatch(/^file_[0-9a-f]{16}_x$/);
    expect(one.storagePath).not.toBe(two.storagePath);
  });

  test("an invalid session id and a path outside the session are rejected", async () => {
    const files = await open();
    const put = files.put({ sessionId: "../..", fileId: "f", filename: "x", bytes });
    await expect(put).rejects.toMatchObject({ code: "invalid" });
    for (const place of ["/etc/passwd", "s3://other/files/x", "s3://agent-data/x", "../x"])
      await expect(files.get(place), place).rejects.toMatchObject({ name: "KnownError" });
  });

  test("reading a missing file fails with not_found, and the message does not contain the file's path", async () => {
    const files = await open();
    const { storagePath } = await files.put({ sessionId, fileId: "f", filename: "x", bytes });
    const failure = (await files.get(`${storagePath}y`).catch((error: unknown) => error)) as Error;
    expect(failure).toMatchObject({ code: "not_found" });
    // Clients of the HTTP API read this message, so it must not contain the path.
    expect(failure.message).not.toContain(storagePath);
  });

  test("a file is found by its session and name, and sessions with files are listed", async () => {
    const files = await open();
    const other = "01a1de6b-ce85-73e6-957e-30f2af6e7b72";
    const { storagePath } = await files.put({ sessionId, fileId: "file_7", filename: "chart.png", bytes });
    await files.put({ sessionId: other, fileId: "file_8", filename: "chart.png", bytes });
    expect(await files.get(`${sessionId}/${basename(storagePath)}`)).toEqual(bytes);
    const found: string[] = [];
    for await (const name of files.sessions?.() ?? []) found.push(name);
    expect(found).toEqual(expect.arrayContaining([sessionId, other]));
    expect(new Set(found).size).toBe(found.length);
    await files.check?.();
  });

  test("only the files of the deleted session are removed", async () => {
    const files = await open();
    const other = "01a1de6b-ce85-73e6-957e-30f2af6e7b71";
    const names = ["a.csv", "b <&> 'ü'.csv"];
    const put = (id: string, filename: string) => files.put({ sessionId: id, fileId: "f", filename, bytes });
    const paths = await Promise.all(names.map((name) => put(sessionId, name)));
    const kept = await put(other, "a.csv");
    await files.deleteSession?.(sessionId);
    await files.deleteSession?.(sessionId);
    for (const { storagePath } of paths)
      await expect(files.get(storagePath), storagePath).rejects.toMatchObject({ code: "not_found" });
    expect(await files.get(kept.storagePath)).toEqual(bytes);
  });
});

test("only the owner can read the files of a folder, under every umask", async () => {
  const before = process.umask(0);
  onTestFinished(() => void process.umask(before));
  const folder = join(await tempFolder(), "files");
  const { storagePath } = await createFolderFileStore({ folder }).put({ sessionId, fileId: "f", filename: "x", bytes });
  expect((await stat(storagePath)).mode & 0o777).toBe(0o600);
  expect((await stat(join(folder, sessionId))).mode & 0o777).toBe(0o700);
});

test("a machine that mounts the folder at another path finds a file by its path on the first machine", async () => {
  const folder = join(await tempFolder(), "files");
  const { storagePath } = await createFolderFileStore({ folder }).put({ sessionId, fileId: "f", filename: "x", bytes });
  const mounted = join(await tempFolder(), "mounted");
  await symlink(folder, mounted);
  expect(await createFolderFileStore({ folder: mounted }).get(storagePath)).toEqual(bytes);
});

test("links that lead out of the folder are not followed, even to a sibling folder with the same prefix", async () => {
  const parent = await tempFolder();
  const folder = join(parent, "mem");
  const files = createFolderFileStore({ folder });
  await files.put({ sessionId, fileId: "f", filename: "x", bytes });
  await mkdir(join(parent, "mem-evil"));
  await writeFile(join(parent, "mem-evil", "x"), "secret");
  await symlink(join(parent, "mem-evil", "x"), join(folder, sessionId, "link"));
  await symlink(join(parent, "mem-evil"), join(folder, "01a1de6b-ce85-73e6-957e-30f2af6e7b71"));
  for (const place of [
    join(parent, "mem-evil", "x"),
    join(folder, "..", "mem-evil", "x"),
    join(folder, sessionId, "link"),
    join(folder, "01a1de6b-ce85-73e6-957e-30f2af6e7b71", "x"),
  ])
    await expect(files.get(place), place).rejects.toMatchObject({ name: "KnownError" });
  const outside = files.put({ sessionId: "01a1de6b-ce85-73e6-957e-30f2af6e7b71", fileId: "f", filename: "y", bytes });
  await expect(outside).rejects.toMatchObject({ code: "invalid" });
  // A link at the path of a new file is replaced, so nothing is written through the link.
  await symlink(join(parent, "mem-evil", "x"), join(folder, sessionId, "f_z"));
  await files.put({ sessionId, fileId: "f", filename: "z", bytes });
  expect(await readFile(join(parent, "mem-evil", "x"), "utf8")).toBe("secret");
});

test("every request to a bucket has a valid signature, for every file name", async () => {
  const signed: boolean[] = [];
  const server = createServer((request, response) => {
    signed.push(isSignedWith("secret", request));
    request.resume();
    response.writeHead(signed.at(-1) ? 200 : 403).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const open = (secretAccessKey: string) =>
    createS3FileStore({ endpoint: `http://127.0.0.1:${port}`, bucket: "b", accessKeyId: "id", secretAccessKey });
  for (const [filename] of NAMES) await open("secret").put({ sessionId, fileId: "f", filename, bytes });
  expect(signed).toEqual(NAMES.map(() => true));
  const put = open("another").put({ sessionId, fileId: "f", filename: "x", bytes });
  await expect(put).rejects.toThrow('The bucket "b" answered PUT with status 403.');
});

test("the error for an unreachable bucket does not contain the key", async () => {
  const files = createS3FileStore({
    endpoint: "http://127.0.0.1:1",
    bucket: "b",
    accessKeyId: "AKIA-CANARY",
    secretAccessKey: "SECRET-CANARY",
    timeoutMs: 500,
  });
  const failure = await files.put({ sessionId, fileId: "f", filename: "x", bytes }).catch((error: unknown) => error);
  expect(String(failure)).toContain('bucket "b"');
  expect(String(failure)).not.toContain("CANARY");
});

test("a request to a bucket that does not answer fails long before the time limit for large files", async () => {
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => (server.closeAllConnections(), void server.close()));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const options = { endpoint, bucket: "b", accessKeyId: "id", secretAccessKey: "secret", answerMs: 20 };
  const put = createS3FileStore(options).put({ sessionId, fileId: "f", filename: "x", bytes });
  await expect(put).rejects.toThrow('The bucket "b" did not answer within 0 s.');
});

test("the error of a bucket contains the reason that the bucket gave", async () => {
  const server = createServer((_, response) => {
    response.writeHead(403, { "content-type": "application/xml" });
    response.end("<Error><Code>AccessDenied</Code></Error>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const files = createS3FileStore({ endpoint, bucket: "b", accessKeyId: "id", secretAccessKey: "secret" });
  await expect(files.check?.()).rejects.toThrow('The bucket "b" answered PUT with status 403 (AccessDenied).');
});

test("the error for a missing bucket names the bucket, and differs from the error for a missing file", async () => {
  const server = createServer((_, response) => {
    response.writeHead(404, { "content-type": "application/xml" });
    response.end("<Error><Code>NoSuchBucket</Code></Error>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const files = createS3FileStore({ endpoint, bucket: "b", accessKeyId: "id", secretAccessKey: "secret" });
  const named = { code: "files_unavailable", message: expect.stringContaining('There is no bucket "b"') as string };
  await expect(files.check?.()).rejects.toMatchObject(named);
  await expect(files.get(`${sessionId}/f-x`)).rejects.toMatchObject(named);
});
