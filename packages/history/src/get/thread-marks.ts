import type { LibraryConfig } from "../config.ts";
import { withStore } from "../facets/with-store.ts";
import { readTranscript } from "../sources/claude-code/transcript/read-transcript.ts";
import { thread } from "../sources/claude-code/transcript/thread.ts";
import { findSession } from "./get-session.ts";

/** Where a person went back and typed another prompt. */
export interface BranchPrompts {
  readonly atUuid: string | null;
  readonly ways: readonly { readonly uuid: string; readonly prompt: string | null; readonly isActive: boolean }[];
}

/**
 * Properties that only the whole transcript shows: which messages were rewound or compacted, and where the conversation
 * branches.
 */
export interface ThreadMarks {
  readonly rewound: ReadonlySet<string>;
  readonly compacted: ReadonlySet<string>;
  readonly branches: readonly BranchPrompts[];
}

/** Reads the whole transcript of a session. Returns undefined if the transcript is larger than `maxBytes`. */
export async function getThreadMarks(
  idOrIndex: number | string,
  options: LibraryConfig & { readonly maxBytes: number },
): Promise<ThreadMarks | undefined> {
  return await withStore(options, async (store) => {
    const { file } = await findSession(idOrIndex, options, store);
    if (file.size > options.maxBytes) return undefined;
    const { messages, branches } = thread(readTranscript(file.path, new Date(file.mtimeMs)).messages);
    const byUuid = new Map(messages.map((message) => [message.uuid, message]));
    const marked = messages.filter(({ isSidechain }) => !isSidechain);
    return {
      rewound: new Set(marked.filter((one) => !one.isActive && !one.isCompacted).map(({ uuid }) => uuid)),
      compacted: new Set(marked.filter(({ isCompacted }) => isCompacted).map(({ uuid }) => uuid)),
      branches: branches.map(({ atUuid, childUuids }) => ({
        atUuid,
        ways: childUuids.map((uuid) => {
          const way = byUuid.get(uuid);
          const prompt = way && "humanPrompt" in way ? way.humanPrompt : null;
          return { uuid, prompt, isActive: way?.isActive === true || way?.isCompacted === true };
        }),
      })),
    };
  });
}
