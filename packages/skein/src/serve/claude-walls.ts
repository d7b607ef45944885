import type { ClaudeWalls } from "@skein/adapters/runtimes/claude-code";
import type { ClaudeSettings } from "@skein/adapters/runtimes/claude-code/policy";
import { openSandbox } from "@skein/adapters/sandboxes/bubblewrap";
import { type ModelBroker, createModelBroker } from "@skein/adapters/sandboxes/model-broker";
import { openNone } from "@skein/adapters/sandboxes/none";
import type { Sandbox, SandboxMode } from "@skein/core";
import { KnownError } from "@skein/protocol";
import { loadPart } from "../optional-parts.ts";

/** The sandbox of Claude Code on this server. */
export interface ServerWalls {
  /**
   * Opens the sandbox. Returns undefined for the mode `off`. If this machine has no sandbox, returns undefined for the
   * mode `preferred`, and throws for the mode `required`.
   */
  open(mode: SandboxMode): Promise<ClaudeWalls | undefined>;
  /** Returns why this machine has no sandbox. Returns undefined if it has a sandbox. */
  problem(): Promise<string | undefined>;
  /**
   * Copies a working folder for a fork, inside the sandbox. So a symbolic link in the folder cannot make the server
   * read other files. If this machine has no sandbox, the copy has the same rights as Claude Code: all of the server's.
   */
  copyFolder(from: string, to: string): Promise<void>;
  /** Forwards model calls. Models with a separate key use the broker even without a sandbox. */
  readonly broker: ModelBroker;
  close(): Promise<void>;
}

interface WallsDeps {
  readonly api: { readonly headers: Readonly<Record<string, string>>; readonly baseUrl: string | undefined };
  /** Addresses that may be called in addition to public addresses. */
  readonly places: NonNullable<ClaudeWalls["places"]>;
  /** Opens the sandbox of this machine. */
  readonly find?: typeof openSandbox;
}

export function createServerWalls(
  { hosts, limits: { memoryBytes, ...limits } }: Pick<ClaudeSettings, "hosts" | "limits">,
  { api, places, find = openSandbox }: WallsDeps,
): ServerWalls {
  const broker = createModelBroker({
    baseUrl: api.baseUrl ?? "https://api.anthropic.com",
    credentials: api.headers,
  });

  async function copyingSandbox(): Promise<Sandbox> {
    const walled = await find();
    const opened = "sandbox" in walled ? walled : await openNone();
    if ("sandbox" in opened) return opened.sandbox;
    throw new KnownError("invalid", `The files of the session cannot be copied for its fork. ${opened.problem}`);
  }

  return {
    broker,
    async problem() {
      const found = await find();
      return "problem" in found ? found.problem : undefined;
    },
    async open(mode) {
      if (mode === "off") return undefined;
      const found = await find();
      if ("sandbox" in found)
        return {
          sandbox: found.sandbox,
          broker,
          limits: { ...limits, totalMemoryBytes: memoryBytes },
          hosts,
          places,
          mcpEdge: async () => (await loadPart.mcp()).openMcpEdge,
        };
      if (mode === "preferred") return undefined;
      throw new KnownError("not_allowed", `Claude Code is off: a sandbox is required. ${found.problem}`);
    },
    async copyFolder(from, to) {
      const sandbox = await copyingSandbox();
      const copy = sandbox.start({
        command: "cp",
        // Links are copied as links.
        args: ["-a", `${from}/.`, to],
        cwd: to,
        env: { PATH: "/usr/bin:/bin" },
        places: [
          { path: from, access: "read" },
          { path: to, access: "write" },
        ],
      });
      // The output is read, because a long list of errors would block the program without a reader.
      for (const stream of [copy.stdout, copy.stderr]) stream.resume();
      const { code } = await copy.ended;
      if (code !== 0)
        throw new Error(`The files of the session could not be copied for its fork: cp ended with code ${code}.`);
    },
    close: () => broker.close(),
  };
}
