import { thread } from "./thread.ts";
import { readTranscript } from "./read-transcript.ts";

/** A point where a person rewound and typed another prompt. */
export interface FileBranch {
  /** The message before the branches; null at the beginning of the session. */
  readonly atUuid: string | null;
  readonly childUuids: readonly string[];
  /** The prompt of each branch; null if the branch begins with an answer. */
  readonly prompts: readonly (string | null)[];
  readonly firstAt: Date;
  readonly lastAt: Date;
}

/** Returns the branches of one transcript, by the rules of `getSession`. */
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
