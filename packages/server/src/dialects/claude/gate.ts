import type { ClaudeOffer, ClaudeOptions, OpenedNames } from "@skein/protocol";
import type { Principal } from "../../keys.ts";

/** What the processes of Claude Code take now, and what they may take. */
export interface ClaudeProcesses {
  readonly running: number;
  readonly waiting: number;
  readonly idle: number;
  readonly ahead: number;
  readonly memoryBytes: number | null;
  readonly limits: {
    readonly running: number;
    readonly idle: number;
    readonly ahead: number;
    readonly memoryBytes: number | null;
  };
}

/** MCP servers have Claude Code's own states in it. */
type ClaudeCodeOffer = Omit<ClaudeOffer, "default_model" | "mcp_servers"> & {
  readonly mcp_servers: readonly unknown[];
};

/** What the server needs of Claude Code's side of the process. */
export interface ClaudeGate {
  /** Why Claude Code cannot run here, as a sentence for whoever asks; undefined when it can. */
  problem(): Promise<string | undefined>;
  /**
   * Refuses what the operator has not opened. Answers the options as the log may keep them: folders as they really are,
   * secrets put aside under the session's id.
   */
  admit(
    options: Partial<ClaudeOptions>,
    request: { readonly principal: Principal; readonly sessionId: string },
  ): Promise<Partial<ClaudeOptions>>;
  /**
   * Why this key may not run Claude Code, as a sentence; undefined if it may. Behind walls every key that may run may run it;
   * without them it is a shell as the server's user, for admin keys and those that the operator named.
   */
  refusal(principal: Principal): Promise<string | undefined>;
  /** How many processes there are and may be, and the memory that they take. */
  processes?(): Promise<ClaudeProcesses | undefined>;
  /** What a session with these options would have, as Claude Code says it. */
  offer(options: Partial<ClaudeOptions>, principal: Principal): Promise<ClaudeCodeOffer>;
  /** What requests with this key may name. */
  opened(principal: Principal): OpenedNames;
  /** Whether there may be sessions here that bypass permissions. */
  readonly bypass: boolean;
  /** The id for a new session with these options whose process is up already; undefined if none is ready. */
  reserve?(options: ClaudeOptions, principal: Principal): string | undefined;
  /** Lets a fork use what was put aside for its parent. */
  inherit(parentId: string, forkId: string, principal: Principal): Promise<void>;
  /** Forgets what was put aside: the session is gone. */
  forget(sessionId: string, principal: Principal): Promise<void>;
}
