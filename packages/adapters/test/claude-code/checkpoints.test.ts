/** Checkpoints (the state of files at a prompt) and rewinds, checked by the files on disk. */
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createS3FileStore } from "@skein/adapters/files/s3";
import { createMemoryStore, keepLargeTexts } from "@skein/core";
import S3rver from "s3rver";
import { expect, onTestFinished, test } from "vitest";
import { type World, createWorld, folder, only, play, until } from "./world.ts";

const EDITS = { allowed_tools: ["Write", "Edit", "Read"], enable_file_checkpointing: true };

const writes = (path: string, content: string): string =>
  play({ tools: [{ name: "Write", input: { file_path: path, content } }] }, { text: "Written." });

const edits = (path: string, from: string, to: string): string =>
  play(
    { tools: [{ name: "Read", input: { file_path: path } }] },
    { tools: [{ name: "Edit", input: { file_path: path, old_string: from, new_string: to } }] },
    { text: "Edited." },
  );

/** A text that is large enough to be stored as a file. */
const LARGE = "A line of a large file.\n".repeat(15_000);

/** Starts a real S3 server. `texts` returns how many large texts the server has. */
async function openBucket() {
  const directory = folder();
  const configureBuckets = [{ name: "agent-data", configs: [] }];
  const server = new S3rver({ port: 0, address: "127.0.0.1", silent: true, directory, configureBuckets });
  const { port } = await server.run();
  onTestFinished(() => server.close());
  const keys = { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" };
  return {
    files: () => createS3FileStore({ endpoint: `http://127.0.0.1:${port}`, bucket: "agent-data", ...keys }),
    texts: () => readdirSync(directory, { recursive: true }).filter((name) => String(name).includes("text-")).length,
  };
}

async function rewind(world: World, sessionId: string, index: number, dryRun: boolean) {
  const checkpoint = (await world.store.checkpoints(sessionId))[index];
  if (!checkpoint) throw new Error("There is no such checkpoint.");
  const { id } = await world.sessions.rewind(sessionId, checkpoint, { dryRun });
  return until(async () => {
    const done = only(await world.sessions.events(sessionId), "rewind.completed");
    return done.find(({ data }) => data.rewind_id === id)?.data;
  });
}

test("a dry run of a rewind lists the changes, and a rewind restores the files, even large ones and on a machine that never ran the session", async () => {
  const bucket = await openBucket();
  const memory = createMemoryStore();
  const store = keepLargeTexts({ store: memory, files: bucket.files() });
  const here = await createWorld({ store });
  const cwd = folder();
  const [old, made] = [join(cwd, "old.txt"), join(cwd, "made.txt")];
  writeFileSync(old, `before\n${LARGE}`);
  const { sessionId } = await here.run(edits(old, "before", "first"), { ...EDITS, cwd });
  await here.again(sessionId, writes(made, "new\n"));
  await here.again(sessionId, edits(old, "first", "third"));
  await here.again(sessionId, play({ text: "Nothing to do." }));
  expect(here.problems).toEqual([]);
  const checkpoints = await store.checkpoints(sessionId);
  expect(checkpoints.map(({ files_modified }) => files_modified)).toEqual([[old], [made], [old], []]);
  const prompts = (await here.sessions.transcript(sessionId)).filter(
    ({ role, content }) => role === "user" && typeof content === "string",
  );
  expect(checkpoints.map(({ user_message_uuid }) => user_message_uuid)).toEqual(prompts.map(({ id }) => id));

  const dry = await rewind(here, sessionId, 1, true);
  expect(dry).toMatchObject({ dry_run: true, error: null });
  expect([...dry.files_changed].sort()).toEqual([made, old]);
  expect(readFileSync(old, "utf8")).toBe(`third\n${LARGE}`);

  const real = await rewind(here, sessionId, 1, false);
  expect(real).toMatchObject({ dry_run: false, error: null });
  expect(readFileSync(old, "utf8")).toBe(`first\n${LARGE}`);
  expect(existsSync(made)).toBe(false);
  await here.stop();

  expect(bucket.texts()).toBeGreaterThan(0);
  // This world acts as another process, which has nothing of the first process in memory.
  const there = await createWorld({ store: keepLargeTexts({ store: memory, files: bucket.files() }) });
  const again = await rewind(there, sessionId, 0, false);
  expect(again.error).toBeNull();
  expect(readFileSync(old, "utf8")).toBe(`before\n${LARGE}`);
  const next = await there.again(sessionId, play({ text: "And on." }));
  expect(only(next, "session.completed")).toHaveLength(1);
}, 120_000);

test("a session with checkpoints turned off stores none, and a rewind to an unknown checkpoint fails", async () => {
  const world = await createWorld();
  const { sessionId, events } = await world.run(writes(join(world.cwd, "a.txt"), "a\n"), {
    ...EDITS,
    enable_file_checkpointing: false,
  });
  expect(only(events, "checkpoint.created")).toEqual([]);
  expect(existsSync(join(world.cwd, "a.txt"))).toBe(true);
  const id = "00000000-0000-7000-8000-000000000001";
  await world.store.append(
    sessionId,
    [
      {
        id,
        event_type: "rewind.requested",
        data: { rewind_id: id, checkpoint_id: id, user_message_uuid: id, dry_run: false },
      },
    ],
    { dueAt: Date.now() },
  );
  const done = await until(async () => only(await world.sessions.events(sessionId), "rewind.completed")[0]?.data);
  expect(done.error?.code).toBe("rewind_failed");
  expect(existsSync(join(world.cwd, "a.txt"))).toBe(true);
}, 120_000);
