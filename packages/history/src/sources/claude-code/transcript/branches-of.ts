import { thread } from "./thread.ts";
import { readTranscript } from "./read-transcript.ts";

/** A point where someone went back and said something else. */
export interface FileBranch {
  /** The message on which the ways hang; null at the beginning. */
  readonly atUuid: string | null;
  readonly childUuids: readonly string[];
  /** What was typed in each way; null where the answer went on. */
  readonly prompts: readonly (string | null)[];
  readonly firstAt: Date;
  readonly lastAt: Date;
}

/** The branches of one transcript, by the rules of `getSession`. */
export function branchesOf(path: string, fallbackTime: Date): readonly FileBranch[] {
  const { messages, branches } = thread(readTranscript(path, fallbackTime).messages);
  if (branches.length === 0) return [];
  const byUuid = new Map(messages.map((message) => [message.uuid, message]));
  return branches.map(({ atUuid, childUuids }) => {
    const ways = childUuids.flatMap((uuid) => byUuid.get(uuid) ?? []);
    const times = ways.map(({ timestamp }) => timestamp.getTime());
    return {
      atUuid,
      childUuids,
      prompts: ways.map((way) => (way.type === "user" && way.role === "user" ? way.humanPrompt : null)),
      firstAt: new Date(Math.min(...times)),
      lastAt: new Date(Math.max(...times)),
    };
  });
}
