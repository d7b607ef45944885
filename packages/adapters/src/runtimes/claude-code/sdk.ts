import { KnownError } from "@skein/protocol";
import type * as Sdk from "@anthropic-ai/claude-agent-sdk";

/**
 * The Claude Agent SDK. It may be missing, because users install it themselves. Only the first session with Claude Code
 * loads it, because it is large.
 */
export type ClaudeSdk = Pick<typeof Sdk, "query" | "startup">;

export async function loadSdk(): Promise<ClaudeSdk> {
  try {
    return await import("@anthropic-ai/claude-agent-sdk");
  } catch (error) {
    throw new KnownError(
      "invalid",
      "This session runs on Claude Code, and the Claude Agent SDK is not installed. Install it beside Skein: npm install @anthropic-ai/claude-agent-sdk.",
      { cause: error },
    );
  }
}
