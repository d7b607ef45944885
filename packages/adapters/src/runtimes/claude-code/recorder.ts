import type { SessionState, Store } from "@skein/core";
import { type Fact, type Ids, isToolUse } from "@skein/protocol";
import type { SDKMessage } from "@anthropic-ai/claude-agent-sdk";
import { backupNames, readBackup } from "./backups.ts";
import { createChanges } from "./changes.ts";
import type { Child } from "./child.ts";
import { closeStrays, emitFailure, emitLost, emitSaid } from "./facts.ts";
import type { Emit, Log } from "./log.ts";
import { type Said, type Waiting, createListener } from "./said.ts";
import { BACKUPS, type Entry, steeredBy, uuidOf } from "./transcript.ts";

export interface RecorderDeps {
  readonly store: Store;
  readonly child: Child;
  readonly log: Log;
  /** The run that is recorded; null for a child that only does something to the session's files. */
  readonly runId: string | null;
  readonly now: () => number;
  readonly ids: Ids;
  readonly cwd: string;
  readonly checkpoints: boolean;
  readonly heard: (said: Said) => void;
  readonly written: (said: Said) => void;
  /** The child is done, and what it said is not in the transcript that it handed over. */
  readonly starved: () => void;
}

/**
 * Writes down what a child says and the transcript that it keeps, in one append where they come together: a thing said
 * becomes a fact no earlier than its entries are stored, so that what the log tells is what a resumed child remembers.
 */
export interface Recorder {
  hear(message: SDKMessage): Promise<void>;
  append(entries: readonly Entry[], subpath: string | null): Promise<void>;
  /** Resolves when the log knows that this call begins; false if it does not come to know it. */
  begins(toolUseId: string): Promise<boolean>;
  /** Opens the gates of calls that the log knows by now. */
  openGates(): void;
  /** Ends the run without a word from the child. */
  fail(code: string, message: string): Promise<void>;
  /** Resolves when everything that came is written. */
  flushed(): Promise<void>;
  /** Nobody waits any longer. */
  close(): void;
}

/** How long the end of a run waits for the transcript of what was said before it. */
const ENTRIES_MS = 5000;

/** How long the last answer waits for the end of its run, so that both are one append. */
const LAST_WORD_MS = 25;

/** Entries come within a tenth of a second. A call that the log has not heard of by now must not run. */
const GATE_MS = 20_000;

export function createRecorder(deps: RecorderDeps): Recorder {
  const { child, log, runId, now, ids } = deps;
  const listener = createListener();
  const changes = createChanges(deps.cwd, log.state);
  const { stored } = child;
  const gates = new Map<string, () => void>();
  let waiting: Waiting[] = [];
  let starving: NodeJS.Timeout | undefined;

  const isUnstored = ({ uuids }: Waiting): boolean => uuids.some((uuid) => !stored.has(uuid));

  /** Takes what may become facts now: everything up to the first whose entries are not stored yet. */
  function takeReady(): readonly Said[] {
    const first = waiting.findIndex(isUnstored);
    const ready = first === -1 ? waiting : waiting.slice(0, first);
    waiting = first === -1 ? [] : waiting.slice(first);
    for (const { said } of ready) changes.note(said);
    return ready.map(({ said }) => said);
  }

  /**
   * Writes what has come, and what comes with it: a child's last entries and its result arrive in one breath, and one
   * append for both is half the time until the end of a run is known.
   */
  let unsaved: Fact[] = [];
  let coming: Promise<void> | undefined;
  let hurry = (): void => {};
  function write(): Promise<void> {
    if (hasEnded()) hurry();
    coming ??= breath().then(() => {
      coming = undefined;
      return writeNow();
    });
    return coming;
  }

  async function breath(): Promise<void> {
    await new Promise<void>((resolve) => void setImmediate(resolve));
    if (hasEnded() || !isLastWord(waiting.at(-1)) || waiting.some(isUnstored)) return;
    await new Promise<void>((resolve) => {
      hurry = resolve;
      setTimeout(resolve, LAST_WORD_MS);
    });
  }

  async function writeNow(): Promise<void> {
    const transcript = takeUnsaved();
    const ready = takeReady();
    // Entries come before the result; some of a process that is in trouble come later, or never.
    if (hasEnded()) starving ??= setTimeout(deps.starved, ENTRIES_MS).unref();
    if (ready.length === 0 && transcript.length === 0) return;
    await log.write((state, emit) => {
      if (!records(state)) return;
      for (const fact of transcript) emit(fact);
      for (const said of ready) {
        if (said.kind === "ended") {
          emitTakenIn(state, emit);
          emitCheckpoint(emit);
        }
        emitSaid(said, state, emit, now());
      }
    });
    for (const said of ready) deps.written(said);
  }

  function takeUnsaved(): readonly Fact[] {
    const taken = unsaved;
    unsaved = [];
    return taken;
  }

  const hasEnded = (): boolean => waiting.some(({ said }) => said.kind === "ended");

  /** Prompts that the transcript has and that nobody spoke of. */
  function emitTakenIn(state: SessionState, emit: Emit): void {
    for (const { message_id } of state.queue)
      if (stored.has(message_id)) emitSaid({ kind: "steered", messageId: message_id }, state, emit, now());
  }

  function emitCheckpoint(emit: Emit): void {
    const { run } = log.state;
    if (!deps.checkpoints || !run) return;
    const files_modified = [...changes.files()];
    emit({
      event_type: "checkpoint.created",
      data: { checkpoint_id: ids(), user_message_uuid: run.prompt.message_id, files_modified },
    });
  }

  /** The copies of files that these entries speak of, as entries of their own. */
  function backups(entries: readonly Entry[]) {
    return backupNames(entries).flatMap((name) => {
      const subpath = BACKUPS + name;
      const entry = stored.has(subpath) ? undefined : readBackup(child.configDir, child.sessionId, name);
      if (!entry) return [];
      stored.add(subpath);
      return [appended([entry], subpath)];
    });
  }

  /** A run whose beginning was refused leaves nothing. */
  let isRecorded = runId === null;
  function records({ run }: SessionState): boolean {
    isRecorded ||= run?.runId === runId;
    return isRecorded;
  }

  const knows = (toolUseId: string): boolean =>
    log.state.run?.calls.some((call) => call.toolUseId === toolUseId) ?? false;

  return {
    async hear(message) {
      const steered = steeredIn(message);
      const isSteering = log.state.queue.some(({ message_id, mode }) => mode === "steer" && message_id === steered);
      // The transcript has it under its own id, when Claude Code took it in.
      const heard: readonly Waiting[] =
        steered !== undefined && isSteering
          ? [{ said: { kind: "steered", messageId: steered }, uuids: [steered] }]
          : listener.hear(message, now());
      if (heard.length === 0) return;
      for (const { said } of heard) deps.heard(said);
      waiting.push(...heard);
      await write();
    },
    async append(entries, subpath) {
      const fresh = entries.filter((entry) => !stored.has(uuidOf(entry) ?? ""));
      for (const entry of fresh)
        for (const uuid of [uuidOf(entry), steeredBy(entry)]) if (uuid !== undefined) stored.add(uuid);
      if (fresh.length === 0) return;
      changes.noteEntries(fresh);
      const facts = [appended(fresh, subpath), ...backups(fresh)];
      child.entries += facts.reduce((sum, { data }) => sum + data.entries.length, 0);
      unsaved.push(...facts);
      await write();
    },
    async begins(toolUseId) {
      waiting.push(...listener.settle(now()));
      await write();
      if (knows(toolUseId)) return true;
      await new Promise<void>((resolve) => {
        gates.set(toolUseId, resolve);
        setTimeout(resolve, GATE_MS).unref();
      });
      gates.delete(toolUseId);
      return knows(toolUseId);
    },
    openGates() {
      for (const [toolUseId, open] of gates)
        if (knows(toolUseId)) {
          gates.delete(toolUseId);
          open();
        }
    },
    async fail(code, message) {
      const awaits = await deps.store.awaits(child.sessionId);
      const transcript = takeUnsaved();
      const ready = takeReady();
      // A resumed child will not remember it, so it was not said; but it was paid for.
      const lost = waiting.map(({ said }) => said);
      waiting = [];
      await log.write((state, emit) => {
        if (!records(state)) return;
        for (const fact of transcript) emit(fact);
        for (const said of ready) emitSaid(said, state, emit, now());
        for (const said of lost) emitLost(said, state, emit);
        emitTakenIn(state, emit);
        if (!state.run) return;
        closeStrays(state, emit, awaits);
        emitCheckpoint(emit);
        const { cancelRequested, cancelReason } = state.run;
        const error = cancelRequested
          ? { code: "cancelled", message: cancelReason ?? "The run was cancelled." }
          : { code, message };
        emitFailure(state, emit, { stopReason: cancelRequested ? "cancelled" : "error", error, now: now() });
      });
    },
    flushed: async () => coming,
    close() {
      clearTimeout(starving);
      for (const open of gates.values()) open();
      gates.clear();
    },
  };
}

/** The prompt that Claude Code begins to look at. The SDK sends this without naming it among its messages. */
function steeredIn(message: SDKMessage): string | undefined {
  const { type, state, command_uuid } = message as { type: string; state?: unknown; command_uuid?: unknown };
  return type === "command_lifecycle" && state === "started" && typeof command_uuid === "string"
    ? command_uuid
    : undefined;
}

/** An answer that asks for nothing: the end of the run follows it at once. */
function isLastWord(last: Waiting | undefined): boolean {
  return last?.said.kind === "reply" && !last.said.content.some(isToolUse);
}

function appended(entries: readonly Entry[], subpath: string | null) {
  return { event_type: "transcript.appended" as const, data: { entries: [...entries], subpath } };
}
