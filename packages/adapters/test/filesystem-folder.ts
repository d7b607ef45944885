import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type FilesystemStore, createFilesystemStore } from "@skein/adapters/stores/filesystem";
import { createScript } from "@skein/core/testing";
import { type Fact, NO_USAGE, createIds } from "@skein/protocol";
import { onTestFinished } from "vitest";

export const ids = createIds();
export const edited = (title: string): Fact => ({ event_type: "session.edited", data: { title } });

/** An empty folder that is removed after the test. */
export function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "skein-files-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A store that is closed after the test. */
export async function opened(folder: string): Promise<FilesystemStore> {
  const store = await createFilesystemStore({ folder });
  onTestFinished(() => store.close());
  return store;
}

export const scriptOn = (store: FilesystemStore, sessionId = ids()) => createScript({ store, ids, sessionId });

/** Adds runs in two appends: first their prompts, then everything else. */
export async function shortRuns(script: ReturnType<typeof scriptOn>, texts: readonly string[]): Promise<void> {
  const runs = texts.map((text) => ({ text, messageId: ids(), runId: ids() }));
  await script.append(
    runs.map(({ text, messageId, runId }) => ({
      event_type: "prompt.accepted",
      data: { message_id: messageId, run_id: runId, mode: "queue", content: text, model: null, max_cost_micros: null },
    })),
  );
  // The lease expires immediately, so that the next runs can claim the session without a release.
  const lease = await script.claim(0);
  await script.append(runs.flatMap(shortRun), { lease });
}

function shortRun({ text, messageId, runId }: { text: string; messageId: string; runId: string }): readonly Fact[] {
  return [
    {
      event_type: "session.started",
      data: { run_id: runId, message_id: messageId, user_message: text, formatter: "xml" },
    },
    {
      event_type: "message.created",
      data: {
        message_id: messageId,
        run_id: runId,
        step: 0,
        role: "user",
        rows: 1,
        transformation_type: "user_message_added",
        messages_before_count: 0,
        messages_after_count: 1,
        tokens_before: 0,
        tokens_after: 10,
      },
    },
    {
      event_type: "session.completed",
      data: {
        run_id: runId,
        step: 1,
        stop_reason: "end_turn",
        final_response: `re: ${text}`,
        usage: NO_USAGE,
        cost_micros: 0,
        unpriced_calls: 0,
        files_generated: 0,
        duration_ms: 5,
      },
    },
  ];
}

/** Returns a copy of the folder as it would be after a kill, without the lock of this process. */
export function afterKill(folder: string): string {
  const copy = emptyFolder();
  cpSync(folder, copy, { recursive: true, preserveTimestamps: true });
  rmSync(join(copy, "lock"), { recursive: true });
  return copy;
}

/** The text of every file below a folder, by its path. */
function contentsOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name)).sort();
  return Object.fromEntries(paths.map((path) => [path.slice(folder.length + 1), readFileSync(path, "utf8")]));
}

/** The documents of the agent tables in a store. */
export function documentsOf(folder: string): Record<string, string> {
  const folders = ["agent_config", "conversation_history", "agent_runs"];
  return Object.fromEntries(
    folders.flatMap((name) =>
      Object.entries(contentsOf(join(folder, name))).map(([path, text]) => [`${name}/${path}`, text]),
    ),
  );
}

/** A small separate disk, or undefined where mounting is not allowed. */
export function smallDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "skein-disk-"));
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs", folder]);
  if (mounted.status !== 0) {
    rmSync(folder, { recursive: true });
    return undefined;
  }
  onTestFinished(() => {
    spawnSync("umount", ["-l", folder]);
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

export function remount(folder: string, mode: "ro" | "rw"): void {
  spawnSync("mount", ["-o", `remount,${mode}`, folder]);
}
