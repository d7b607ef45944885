import {
  type Batch,
  type DriverLog,
  type SessionState,
  type Store,
  cancellation,
  checkpointCreated,
  endWith,
  transcriptAppended,
} from "@skein/core";
import type { Failure, Ids } from "@skein/protocol";
import type { SDKMessage } from "@anthropic-ai/claude-agent-sdk";
import { backupNames, readBackup } from "./backups.ts";
import { createCallGates } from "./call-gates.ts";
import { closeStrays } from "./call-results.ts";
import { createChangedFiles } from "./changed-files.ts";
import type { Child } from "./claude-child.ts";
import { type RecordOptions, recordLost, recordMessage, recordSteered } from "./record-messages.ts";
import { failRun } from "./end-run.ts";
import { type ClaudeMessage, type PendingMessage, createMessageReader } from "./sdk-messages.ts";
import { BACKUPS, type Entry, steeredBy, uuidOf } from "./transcript.ts";
import { type UnrecordedMessages, createUnrecordedMessages } from "./unrecorded-messages.ts";

export interface RecorderDeps {
  readonly store: Store;
  readonly child: Child;
  readonly log: DriverLog;
  /** The run to record. Null for a rewind, which changes files without a run. */
  readonly runId: string | null;
  readonly now: () => number;
  readonly ids: Ids;
  readonly cwd: string;
  readonly checkpoints: boolean;
  readonly unpaid?: RecordOptions["unpaid"];
  readonly heard: (message: ClaudeMessage) => void;
  readonly written: (message: ClaudeMessage) => void;
  /** Handles a run whose end has arrived although the transcript still lacks entries for some messages. */
  readonly starved: () => void;
}

/**
 * Records messages and transcript entries of a child (a process of Claude Code), in one append if they arrive together.
 * A message becomes an event of the log only after its entries are stored, so that a resumed child knows everything in
 * the log.
 */
export interface Recorder {
  hear(message: SDKMessage): Promise<void>;
  append(entries: readonly Entry[], subpath: string | null): Promise<void>;
  /** Waits until the log has the start of a call. Resolves to false if the start could not be stored. */
  begins(toolUseId: string): Promise<boolean>;
  /** Lets calls continue if their start is now in the log. */
  openGates(): void;
  /** Ends the run with an error, without a message from the child. */
  fail(error: Failure): Promise<void>;
  /** Records what has arrived, and the usage of an unfinished answer. The run continues in another process. */
  handOver(): Promise<void>;
  /** Waits until everything that was received is stored. */
  flushed(): Promise<void>;
  /** Ends the wait of all calls. Calls that are not in the log must not run. */
  close(): void;
}

/** The end of a run waits at most this long for transcript entries of earlier messages. */
const ENTRIES_MS = 5000;

export function createRecorder(deps: RecorderDeps): Recorder {
  const { child, log, runId, now } = deps;
  const { stored } = child;
  const recording = {
    termsOf: child.models.termsOf,
    mostOutput: child.mostOutput,
    ...(deps.unpaid && { unpaid: deps.unpaid }),
  };
  const reader = createMessageReader();
  const changes = createChangedFiles(deps.cwd, log.state);
  const gates = createCallGates(log);
  const unrecorded = createUnrecordedMessages(stored);
  const appends = createAppendTiming(unrecorded, writeNow);
  let starving: NodeJS.Timeout | undefined;

  function takeReady() {
    const taken = unrecorded.take();
    for (const message of taken.ready) changes.note(message);
    return taken;
  }

  async function writeNow(): Promise<void> {
    const { transcript, ready } = takeReady();
    // Transcript entries normally arrive before the end of the run. If Claude Code cannot write its transcript, they
    // may arrive later or never.
    if (unrecorded.hasEnded) starving ??= setTimeout(deps.starved, ENTRIES_MS).unref();
    if (ready.length === 0 && transcript.length === 0) return;
    await log.write((batch) => {
      if (!records(batch.state)) return;
      batch.add(...transcript);
      for (const message of ready) {
        if (message.kind === "ended") {
          recordTakenIn(batch);
          recordCheckpoint(batch);
        }
        recordMessage(message, batch, recording);
      }
    });
    for (const message of ready) deps.written(message);
  }

  /**
   * Records queued prompts as read if Claude Code's transcript has them. Claude Code does not report every prompt that
   * it reads.
   */
  function recordTakenIn(batch: Batch): void {
    for (const { message_id } of batch.state.queue) if (stored.has(message_id)) recordSteered(message_id, batch);
  }

  function recordCheckpoint({ state: { run }, add }: Batch): void {
    if (!deps.checkpoints || !run) return;
    const userMessageId = run.prompt.message_id;
    add(checkpointCreated({ checkpointId: deps.ids(), userMessageId, filesModified: changes.files() }));
  }

  /**
   * False until the log has the beginning of the run. If the append of the beginning was rejected, no part of the run
   * is recorded.
   */
  let isRecorded = runId === null;
  function records({ run }: SessionState): boolean {
    isRecorded ||= run?.runId === runId;
    return isRecorded;
  }

  return {
    async hear(message) {
      const heard = steeredIn(message, log.state) ?? reader.read(message, now());
      if (heard.length === 0) return;
      for (const { message: said } of heard) deps.heard(said);
      unrecorded.addMessages(heard);
      await appends.soon();
    },
    async append(entries, subpath) {
      const fresh = entries.filter((entry) => !stored.has(uuidOf(entry) ?? ""));
      for (const entry of fresh)
        for (const uuid of [uuidOf(entry), steeredBy(entry)]) if (uuid !== undefined) stored.add(uuid);
      if (fresh.length === 0) return;
      changes.noteEntries(fresh);
      const facts = [transcriptAppended(fresh, subpath), ...backups(fresh, child)];
      child.entries += facts.reduce((sum, { data }) => sum + data.entries.length, 0);
      unrecorded.addTranscript(facts);
      await appends.soon();
    },
    async begins(toolUseId) {
      unrecorded.addMessages(reader.settle(now()));
      await appends.soon();
      return gates.pass(toolUseId);
    },
    openGates: gates.open,
    async fail(error) {
      const awaits = await deps.store.awaits(child.sessionId);
      unrecorded.addMessages(reader.breakOff());
      const { transcript, ready } = takeReady();
      // These answers are not in the transcript, so a resumed child will not know them. See `recordLost`.
      const lost = unrecorded.takeLost();
      await log.write((batch) => {
        if (!records(batch.state)) return;
        batch.add(...transcript);
        for (const message of ready) recordMessage(message, batch, recording);
        for (const message of lost) recordLost(message, batch, recording);
        recordTakenIn(batch);
        const { run } = batch.state;
        if (!run) return;
        closeStrays(awaits, batch);
        recordCheckpoint(batch);
        failRun(cancellation(batch.state, run) ?? endWith(error), batch);
      });
    },
    async handOver() {
      unrecorded.addMessages(reader.breakOff());
      const { transcript, ready } = takeReady();
      const lost = unrecorded.takeLost();
      const options = { ...recording, goesOn: true };
      await log.write((batch) => {
        if (!records(batch.state)) return;
        batch.add(...transcript);
        for (const message of ready) recordMessage(message, batch, options);
        for (const message of lost) recordLost(message, batch, options);
      });
    },
    flushed: appends.flushed,
    close() {
      clearTimeout(starving);
      gates.close();
    },
  };
}

/** The last answer waits at most this long for the end of its run, so that both are in one append. */
const LAST_WORD_MS = 25;

/**
 * Waits a moment, so that messages are appended together. The last entries of a child arrive shortly before its result.
 * With one append for both, clients see the end of a run in half the time.
 */
function createAppendTiming(unrecorded: UnrecordedMessages, append: () => Promise<void>) {
  let coming: Promise<void> | undefined;
  let hurry = (): void => {};

  async function breath(): Promise<void> {
    await new Promise<void>((resolve) => void setImmediate(resolve));
    if (unrecorded.hasEnded || !unrecorded.isLastAnswer) return;
    await new Promise<void>((resolve) => {
      hurry = resolve;
      setTimeout(resolve, LAST_WORD_MS);
    });
  }

  return {
    soon(): Promise<void> {
      if (unrecorded.hasEnded) hurry();
      coming ??= breath().then(() => {
        coming = undefined;
        return append();
      });
      return coming;
    },
    flushed: async (): Promise<void> => coming,
  };
}

/** Returns facts with the copies of files that these entries name. */
function backups(entries: readonly Entry[], { stored, configDir, sessionId }: Child) {
  return backupNames(entries).flatMap((name) => {
    const subpath = BACKUPS + name;
    const entry = stored.has(subpath) ? undefined : readBackup(configDir, sessionId, name);
    if (!entry) return [];
    stored.add(subpath);
    return [transcriptAppended([entry], subpath)];
  });
}

/**
 * If the message reports that Claude Code begins to process a prompt of the current turn, returns this prompt. The
 * SDK's types do not have this kind of message.
 */
function steeredIn(message: SDKMessage, { queue }: SessionState): readonly PendingMessage[] | undefined {
  const { type, state, command_uuid } = message as { type: string; state?: unknown; command_uuid?: unknown };
  if (type !== "command_lifecycle" || state !== "started" || typeof command_uuid !== "string") return undefined;
  if (!queue.some(({ message_id, mode }) => mode === "steer" && message_id === command_uuid)) return undefined;
  // The transcript has the prompt under a new id, and links it to this id.
  return [{ message: { kind: "steered", messageId: command_uuid }, uuids: [command_uuid] }];
}
