import type { QueueFigures } from "@skein/core";
import type { ClaudeOffer, ClaudeOptions, OpenedNames } from "@skein/protocol";
import type { Principal } from "../../keys.ts";

/** How many processes of Claude Code run, how much memory they use, and the limits of both. */
export interface ClaudeProcesses {
  readonly running: number;
  readonly waiting: number;
  readonly queue: QueueFigures;
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

/** The offer as Claude Code reports it. MCP servers have Claude Code's own states. */
type ClaudeCodeOffer = Omit<ClaudeOffer, "default_model" | "mcp_servers"> & {
  readonly mcp_servers: readonly unknown[];
};

/** What the server needs from the Claude Code runtime of this process. */
export interface ClaudeGate {
  /** Why Claude Code cannot run here, as a sentence for the caller; undefined if it can. */
  problem(): Promise<string | undefined>;
  /**
   * Rejects options that the operator has not allowed. Returns the options as the log may store them: with the real
   * paths of folders, and with references instead of secrets. The secrets are kept under the session's id.
   */
  admit(
    options: Partial<ClaudeOptions>,
    request: { readonly principal: Principal; readonly sessionId: string },
  ): Promise<Partial<ClaudeOptions>>;
  /**
   * Why this key may not run Claude Code, as a sentence; undefined if it may. With a sandbox, every key with the scope
   * `run` may. Without a sandbox, Claude Code runs commands as the server's user, so only admin keys may, and keys that
   * the operator named.
   */
  refusal(principal: Principal): Promise<string | undefined>;
  /** The processes of Claude Code; undefined if none can run. */
  processes?(): Promise<ClaudeProcesses | undefined>;
  /** Tools, commands, models and servers that a session with these options would have, as Claude Code reports them. */
  offer(options: Partial<ClaudeOptions>, principal: Principal): Promise<ClaudeCodeOffer>;
  /** The folders, settings, plugins, servers and modes that requests with this key may name. */
  opened(principal: Principal): OpenedNames;
  /** Whether the sandbox rules of some keys differ from those of other keys. */
  readonly hasSandboxRules?: boolean;
  /** Whether sessions on this server may bypass permissions. */
  readonly bypass: boolean;
  /** The id of a session with these options whose process was started in advance; undefined if there is none. */
  reserve?(options: ClaudeOptions, principal: Principal): string | undefined;
  /** Copies the secrets and the working folder of a parent to its fork. */
  inherit(parentId: string, forkId: string, principal: Principal): Promise<void>;
  /** Removes the secrets and folders of a session that was deleted. */
  forget(sessionId: string, principal: Principal): Promise<void>;
}
