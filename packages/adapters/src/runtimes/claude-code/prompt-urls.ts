import { urlsIn } from "../../sandboxes/model-broker/provider-refusal.ts";
import { type Transcript, blocksIn } from "./transcript.ts";

/** The addresses of images and documents in the prompts of a session: the provider of its model may fetch these. */
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
        // A model can control the results of tools, which are in messages of the user too. So results are left out.
        if (entry.type === "user") note(blocksIn(entry).filter(({ type }) => type !== "tool_result"));
    },
    allowsUrl: (url) => known.has(url),
  };
}
