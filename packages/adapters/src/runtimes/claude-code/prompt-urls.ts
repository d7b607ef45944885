import { urlsIn } from "../../sandboxes/model-broker/provider-refusal.ts";
import { type Transcript, blocksIn } from "./transcript.ts";

/**
 * Remembers the addresses of images and documents in the prompts of a session. The model's provider is allowed to fetch
 * only these addresses.
 */
export interface PromptUrls {
  note(content: unknown): void;
  noteTranscript(transcript: Transcript): void;
  allowsUrl(url: string): boolean;
}

export function createPromptUrls(): PromptUrls {
  const known = new Set<string>();
  const note = (content: unknown): void => {
    for (const url of urlsIn(content)) known.add(url);
  };
  return {
    note,
    noteTranscript(transcript) {
      for (const entry of transcript.get("") ?? [])
        // Messages of the user also contain tool results. These are left out, because a model can control their
        // content.
        if (entry.type === "user") note(blocksIn(entry).filter(({ type }) => type !== "tool_result"));
    },
    allowsUrl: (url) => known.has(url),
  };
}
