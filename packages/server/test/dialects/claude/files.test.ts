import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scripted } from "../../world.ts";
import { type ClaudeServer, claudeServer } from "./server.ts";
import { type Frame, all, only } from "./world.ts";

/** Checkpoints and rewinds of the real Claude Code, checked by the files on disk. */

let server: ClaudeServer;
let folder: string;
beforeAll(async () => {
  server = await claudeServer();
  folder = server.work;
});
afterAll(() => server.close());

const write = (file: string, content: string) => ({ tools: [{ name: "Write", input: { file_path: file, content } }] });
const read = (file: string): string | null => (existsSync(file) ? readFileSync(file, "utf8") : null);

interface Checkpoint {
  readonly id: string;
  readonly user_message_uuid: string;
  readonly files_modified: readonly string[];
}

async function checkpointsOf(path: string): Promise<readonly Checkpoint[]> {
  const { body } = await server.call("GET", `${path}/checkpoints`);
  return body["checkpoints"] as Checkpoint[];
}

/** Makes a session with two runs. Each run wrote a file. */
async function written(name: string) {
  const file = join(folder, `${name}.txt`);
  const body = { enable_file_checkpointing: true, permission_mode: "acceptEdits", cwd: folder };
  const run = (label: string, content: string) =>
    scripted(`${name}-${label}`, [write(file, content), { text: "Written." }]);
  const first = await all(server, "/api/v1/query", { ...body, prompt: run("one", "first\n") });
  const path = `/api/v1/sessions/${only(first, "init").data.session_id}`;
  const reading = { tools: [{ name: "Read", input: { file_path: file } }] };
  const second = await all(server, `${path}/resume`, {
    prompt: scripted(`${name}-two`, [reading, write(file, "second\n"), { text: "Written." }]),
  });
  return { file, path, first, second };
}

const promptOf = (frames: readonly Frame[]): unknown => frames.find(({ data }) => data.type === "user")?.data["uuid"];

test("each user message has a checkpoint, a dry run lists the changes of a rewind, and a rewind applies them", async () => {
  const { file, path, first, second } = await written("rewound");
  const checkpoints = await checkpointsOf(path);
  expect(checkpoints.map(({ user_message_uuid }) => user_message_uuid)).toEqual([promptOf(first), promptOf(second)]);
  for (const { files_modified } of checkpoints) expect(files_modified).toEqual([file]);
  expect(read(file)).toBe("second\n");
  const [before, between] = checkpoints;
  expect((await server.call("GET", `${path}/files`)).body).toMatchObject({
    files: [{ path: file, status: "added", insertions: 1, deletions: 0, changes: 2 }],
  });
  const diff = (of: string) => server.call("GET", `${path}/files/diff?path=${encodeURIComponent(of)}`);
  const diffOf = async (): Promise<unknown> => ((await diff(file)).body["files"] as { diff: string }[])[0]?.diff;
  expect(await diffOf()).toBe(`--- /dev/null\n+++ b${file}\n@@ -0,0 +1,1 @@\n+second\n`);
  expect((await diff("/etc/passwd")).status).toBe(404);
  const dry = await server.call("POST", `${path}/rewind`, { checkpoint_id: between?.id, dry_run: true });
  expect(dry.body).toMatchObject({ status: "validated", files_changed: [file] });
  expect(read(file)).toBe("second\n");
  // The preview of a rewind shows the reverse change: back to an earlier text, or to no file.
  const back = async (to: string | undefined) => (await server.call("GET", `${path}/files/diff?rewind_to=${to}`)).body;
  expect(await back(between?.id)).toMatchObject({
    files: [{ status: "modified", diff: `--- a${file}\n+++ b${file}\n@@ -1,1 +1,1 @@\n-second\n+first\n` }],
  });
  expect(await back(before?.user_message_uuid)).toMatchObject({
    files: [{ status: "removed", diff: `--- a${file}\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-second\n` }],
  });
  expect((await back("none")).error.code).toBe("CHECKPOINT_NOT_FOUND");
  const done = await server.call("POST", `${path}/rewind`, { checkpoint_id: between?.id });
  expect(done.body).toMatchObject({ status: "completed", checkpoint_id: between?.id });
  // The diff no longer contains the change that was rewound.
  expect(await diffOf()).toBe(`--- /dev/null\n+++ b${file}\n@@ -0,0 +1,1 @@\n+first\n`);
  expect(read(file)).toBe("first\n");
  // A rewind may also name the user message. At that message the file did not exist.
  await server.call("POST", `${path}/rewind`, { checkpoint_id: before?.user_message_uuid });
  expect(read(file)).toBe(null);
});

test("a rewind works after a resume and after changes by others, and the session continues", async () => {
  const { file, path } = await written("later");
  await all(server, `${path}/resume`, { prompt: scripted("later-three", [{ text: "Only words." }]) });
  writeFileSync(file, "somebody else\n");
  const [, between] = await checkpointsOf(path);
  expect((await server.call("POST", `${path}/rewind`, { checkpoint_id: between?.id })).status).toBe(200);
  expect(read(file)).toBe("first\n");
  const frames = await all(server, `${path}/resume`, { prompt: scripted("later-four", [{ text: "Still here." }]) });
  expect(only(frames, "result").data["result"]).toBe("Still here.");
});

test("a checkpoint of another session is not found, and the list of a session without checkpoints is empty", async () => {
  const { path } = await written("mine");
  const [theirs] = await checkpointsOf(path);
  const frames = await all(server, "/api/v1/query", { prompt: scripted("without", [{ text: "Hi." }]) });
  const other = `/api/v1/sessions/${only(frames, "init").data.session_id}`;
  expect(await checkpointsOf(other)).toEqual([]);
  for (const checkpoint_id of [theirs?.id, "01980000-0000-7000-8000-000000000001", "../../etc"]) {
    const { status, body } = await server.call("POST", `${other}/rewind`, { checkpoint_id });
    expect([status, body.error.code]).toEqual([404, "CHECKPOINT_NOT_FOUND"]);
  }
});

test("files that cannot be restored are reported, and the session stays usable", async () => {
  const cwd = join(server.work, "gone");
  mkdirSync(cwd);
  const file = join(cwd, "a.txt");
  const frames = await all(server, "/api/v1/query", {
    prompt: scripted("gone", [write(file, "a"), { text: "Written." }]),
    cwd,
    enable_file_checkpointing: true,
    permission_mode: "acceptEdits",
  });
  const path = `/api/v1/sessions/${only(frames, "init").data.session_id}`;
  const [checkpoint] = await checkpointsOf(path);
  rmSync(cwd, { recursive: true });
  const refused = await server.call("POST", `${path}/rewind`, { checkpoint_id: checkpoint?.id });
  expect([refused.status, refused.body.error.code]).toEqual([400, "INVALID_CHECKPOINT"]);
  mkdirSync(cwd);
  const done = await server.call("POST", `${path}/rewind`, { checkpoint_id: checkpoint?.id });
  expect([done.status, existsSync(file)]).toEqual([200, false]);
});
