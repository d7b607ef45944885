import { type QueuedPrompt, rewindCompleted } from "@skein/core";
import type { FactData } from "@skein/protocol";
import type { Query } from "@anthropic-ai/claude-agent-sdk";
import { resolve } from "node:path";
import { type Drive, childFor, recording } from "./session-child.ts";

type Requested = FactData<"rewind.requested">;
type Completed = FactData<"rewind.completed">;

/** An empty prompt. With it, the child uses the options of the session. */
const NO_PROMPT: QueuedPrompt = {
  run_id: "",
  message_id: "",
  mode: "queue",
  content: "",
  model: null,
  max_cost_micros: null,
};

/**
 * Restores the files to their state at a user message. For a dry run, only reports the changes. Needs a child process.
 */
export async function rewind(drive: Drive, request: Requested): Promise<void> {
  const { log, deps } = drive;
  const completed = await perform(drive, request).catch((error: unknown) => notDone(request, error));
  await log.write(({ state, add }) => {
    if (state.rewinds.some(({ rewind_id }) => rewind_id === request.rewind_id)) add(rewindCompleted(completed));
  });
  if (completed.error) deps.children.drop(drive.lease.sessionId);
}

async function perform(drive: Drive, request: Requested): Promise<Completed> {
  const { child, options } = await childFor(drive, NO_PROMPT);
  const { rewind_id, checkpoint_id, dry_run, user_message_uuid } = request;
  const stopRecording = recording(drive, { child, options });
  try {
    // The SDK reports changes only in a dry run.
    const {
      canRewind,
      filesChanged = [],
      insertions = 0,
      deletions = 0,
      error,
    } = await child.query.rewindFiles(user_message_uuid, { dryRun: true });
    if (!canRewind) throw new Error(error ?? "Claude Code has no copies of the files as they were at this message.");
    if (!dry_run) await reallyRewind(child.query, user_message_uuid);
    const files_changed = filesChanged.map((path) => resolve(options.cwd, path));
    return { rewind_id, checkpoint_id, dry_run, files_changed, insertions, deletions, error: null };
  } finally {
    stopRecording();
    drive.deps.children.keep(child);
  }
}

async function reallyRewind(query: Query, uuid: string): Promise<void> {
  const { canRewind, error } = await query.rewindFiles(uuid);
  if (!canRewind) throw new Error(error ?? "Claude Code could not restore the files.");
}

function notDone({ rewind_id, checkpoint_id, dry_run }: Requested, error: unknown): Completed {
  const message = error instanceof Error ? error.message : String(error);
  const nothing = { files_changed: [], insertions: 0, deletions: 0 };
  return { rewind_id, checkpoint_id, dry_run, ...nothing, error: { code: "rewind_failed", message } };
}
