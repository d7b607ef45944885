import type { SessionState } from "@skein/core";
import type { ContentBlock, Message } from "@skein/protocol";
import { isAbsolute, resolve } from "node:path";
import type { ClaudeMessage } from "./sdk-messages.ts";
import type { Entry } from "./transcript.ts";

/** The tools that write files. The value is the input field with the path. */
const WRITERS: Readonly<Record<string, string>> = {
  Write: "file_path",
  Edit: "file_path",
  MultiEdit: "file_path",
  NotebookEdit: "notebook_path",
};

/** Collects the files that a run changed, as absolute paths. The run's checkpoint can restore them. */
export function createChangedFiles(cwd: string, state: SessionState) {
  const files = new Set<string>();
  /** Calls that will change a file if they succeed. */
  const asked = new Map<string, string>();

  function noteCalls(content: readonly ContentBlock[]): void {
    for (const block of content) {
      const path = block.type === "tool_use" ? pathIn(block) : undefined;
      if (path !== undefined) asked.set(String(block["id"]), absolute(path));
      const target = asked.get(String(block["tool_use_id"]));
      if (block.type === "tool_result" && target !== undefined && block["is_error"] !== true) files.add(target);
    }
  }

  const absolute = (path: string): string => (isAbsolute(path) ? path : resolve(cwd, path));

  // A resumed run may have changed files before.
  for (const { content } of messagesOfRun(state)) if (typeof content !== "string") noteCalls(content);

  return {
    note(message: ClaudeMessage): void {
      if (message.kind === "reply") noteCalls(message.content);
      if (message.kind === "subagent" && typeof message.content !== "string") noteCalls(message.content);
      if (message.kind === "results")
        for (const { toolUseId, isError } of message.results) {
          const path = asked.get(toolUseId);
          if (path !== undefined && !isError) files.add(path);
        }
    },
    noteEntries(entries: readonly Entry[]): void {
      for (const { type, trackingPath } of entries)
        if (type === "file-history-delta" && typeof trackingPath === "string") files.add(absolute(trackingPath));
    },
    files: (): readonly string[] => [...files].sort(),
  };
}

function messagesOfRun({ run, transcript }: SessionState): readonly Message[] {
  const prompt = transcript.findIndex(({ id }) => id === run?.prompt.message_id);
  return prompt === -1 ? [] : transcript.slice(prompt + 1);
}

function pathIn(block: ContentBlock): string | undefined {
  const key = WRITERS[String(block["name"])];
  const path = key === undefined ? undefined : (block["input"] as Record<string, unknown> | undefined)?.[key];
  return typeof path === "string" ? path : undefined;
}
