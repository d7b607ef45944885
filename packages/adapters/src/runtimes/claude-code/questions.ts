import { type DriverLog, awaitOpened, toolStarted } from "@skein/core";
import type { JsonObject } from "@skein/protocol";
import type { CanUseTool, PermissionResult } from "@anthropic-ai/claude-agent-sdk";
import type { Answers } from "./answers.ts";
import { resolveAwait } from "./call-results.ts";
import { permissionOf } from "./permission.ts";

export interface QuestionsDeps {
  readonly log: DriverLog;
  readonly answers: Answers;
  /** Waits until the log has the start of the call. Resolves to false if the start could not be stored. */
  readonly begins: (toolUseId: string) => Promise<boolean>;
  /** Ends the process after a question has waited for `parkAfterMs`, if the process has nothing else to do. */
  readonly park: () => void;
  /**
   * Ends the process if a question could not be stored. Any answer, even an error, would make Claude Code call the
   * model again.
   */
  readonly failed: (error: unknown) => void;
  readonly parkAfterMs: number;
}

/** Asks people whether a tool call of Claude Code may run, and asks them the questions of the tool AskUserQuestion. */
export interface Questions {
  readonly canUseTool: CanUseTool;
  /** True while a question waits for a person or a client. */
  readonly isOpen: boolean;
  /** Continues the calls whose question now has an answer in the log. */
  wake(): void;
  close(): void;
}

type Context = Parameters<CanUseTool>[2];

/**
 * Collects Claude Code's information about a call that needs permission. A client can send `suggestions` back as
 * `updatedPermissions`.
 */
function aboutOf({ suggestions, title, description, blockedPath, decisionReason }: Context): { about?: JsonObject } {
  const about = {
    ...(suggestions && { suggestions }),
    ...(title && { title }),
    ...(description && { description }),
    ...(blockedPath && { blocked_path: blockedPath }),
    ...(decisionReason && { reason: decisionReason }),
  };
  return Object.keys(about).length > 0 ? { about } : {};
}

const NOT_KNOWN: PermissionResult = { behavior: "deny", message: "The call could not be stored. Try again." };

const NEVER = new Promise<never>(() => {});

export function createQuestions({ log, answers, begins, park, failed, parkAfterMs }: QuestionsDeps): Questions {
  const open = new Map<string, () => void>();
  /**
   * The decision for each call. A resumed Claude Code process asks twice about the call that it resumes, and gets the
   * same decision both times.
   */
  const decided = new Map<string, Promise<PermissionResult>>();
  const ofSubagents = new Set<string>();
  let closed = false;

  /** Returns true if an answered call is still running. */
  function isAtWork(): boolean {
    const calls = log.state.run?.calls ?? [];
    return calls.some(({ toolUseId, phase }) => phase !== "done" && decided.has(toolUseId) && !open.has(toolUseId));
  }

  /** Asks people or clients, and waits for the answer in the log. */
  async function ask(name: string, input: JsonObject, context: Context): Promise<PermissionResult> {
    const { toolUseID: toolUseId, signal: stop } = context;
    const kind = name === "AskUserQuestion" ? "question" : "approval";
    await log.write(({ state: { run }, add }) => {
      if (!run || run.calls.some((call) => call.toolUseId === toolUseId && call.phase === "waiting")) return;
      add(awaitOpened(run, [{ toolUseId, kind, name, input, expiresAt: null, ...aboutOf(context) }]));
    });
    await answered(toolUseId, stop);
    if (closed) return { behavior: "deny", message: "The session was paused while it waits for an answer." };
    const answer = answers.get(toolUseId);
    await log.write((batch) => {
      const { run } = batch.state;
      if (!run) return;
      const call = run.calls.find((one) => one.toolUseId === toolUseId && one.phase !== "done");
      resolveAwait(toolUseId, answer ? "answered" : "cancelled", batch);
      if (answer && call) batch.add(toolStarted(run, call));
    });
    return answer
      ? permissionOf(answer, kind, input)
      : { behavior: "deny", message: "The run was cancelled before anybody answered." };
  }

  async function answered(toolUseId: string, stop: AbortSignal): Promise<void> {
    if (answers.has(toolUseId)) return;
    await new Promise<void>((resolve) => {
      open.set(toolUseId, resolve);
      stop.addEventListener("abort", () => resolve());
      if (closed || stop.aborted || answers.has(toolUseId)) resolve();
    });
    open.delete(toolUseId);
  }

  return {
    get isOpen() {
      return open.size > 0;
    },
    async canUseTool(name, input, context) {
      const { toolUseID, agentID } = context;
      const before = decided.get(toolUseID);
      if (before) return before;
      const inMain = agentID === undefined;
      if (!inMain) ofSubagents.add(toolUseID);
      const timer = setInterval(() => {
        // A process with other work is kept. If a subagent asks, the process is also kept, because a new process could
        // not resume the subagent's question.
        if (open.has(toolUseID) && [...open.keys()].every((id) => !ofSubagents.has(id)) && !isAtWork()) park();
      }, parkAfterMs).unref();
      const asking = (inMain ? begins(toolUseID) : Promise.resolve(true))
        .then((known) => (known ? ask(name, input, context) : NOT_KNOWN))
        .catch((error: unknown) => {
          failed(error);
          return NEVER;
        })
        .finally(() => clearInterval(timer));
      decided.set(toolUseID, asking);
      return asking;
    },
    wake() {
      for (const [toolUseId, go] of open) if (answers.has(toolUseId)) go();
    },
    close() {
      closed = true;
      for (const go of open.values()) go();
    },
  };
}
