import type { QueueFigures } from "@skein/core";
import type { ClaudeOffer, ClaudeOptions, OpenedNames } from "@skein/protocol";
import type { Principal } from "../../keys.ts";

/** The number of Claude Code's processes, their memory, and the limits. */
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

/** The offer as Claude Code reports it, with Claude Code's names for the states of MCP servers. */
type ClaudeCodeOffer = Omit<ClaudeOffer, "default_model" | "mcp_servers"> & {
  readonly mcp_servers: readonly unknown[];
};

/** What the server needs from the Claude Code runtime of this process. */
export interface ClaudeGate {
  /** Returns a sentence for the caller if Claude Code cannot run on this server. */
  problem(): Promise<string | undefined>;
  /**
   * Rejects options that the operator has not allowed. Returns the options as the session's events may contain them:
   * with the real paths of folders, and with references instead of secrets. The secrets are stored under the session's
   * id.
   */
  admit(
    options: Partial<ClaudeOptions>,
    request: { readonly principal: Principal; readonly sessionId: string },
  ): Promise<Partial<ClaudeOptions>>;
  /**
   * Returns a sentence for the caller if this key may not run Claude Code. With a sandbox, every key with the scope
   * `run` may run it. Without a sandbox, Claude Code runs commands as the server's user. So only admin keys and keys
   * that the operator named may run it.
   */
  refusal(principal: Principal): Promise<string | undefined>;
  /** The processes of Claude Code; undefined if none can run. */
  processes?(): Promise<ClaudeProcesses | undefined>;
  /** Tools, commands, models and servers that a session with these options would have, as Claude Code reports them. */
  offer(options: Partial<ClaudeOptions>, principal: Principal): Promise<ClaudeCodeOffer>;
  /** The folders, settings, plugins, servers and modes that requests with this key may name. */
  opened(principal: Principal): OpenedNames;
  /** Whether sandbox rules differ between keys. */
  readonly hasSandboxRules?: boolean;
  /** Whether sessions on this server may bypass permissions. */
  readonly bypass: boolean;
  /**
   * Returns the id of a prepared session with these options. Its process already runs. Undefined if no session is
   * prepared.
   */
  reserve?(options: ClaudeOptions, principal: Principal): string | undefined;
  /** Copies the secrets and the working folder of a parent to its fork. */
  inherit(parentId: string, forkId: string, principal: Principal): Promise<void>;
  /** Removes the secrets and folders of a session that was deleted. */
  forget(sessionId: string, principal: Principal): Promise<void>;
}
