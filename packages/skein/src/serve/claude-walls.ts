import type { ClaudeWalls } from "@skein/adapters/runtimes/claude-code";
import type { ClaudeSettings } from "@skein/adapters/runtimes/claude-code/policy";
import { openBubblewrap } from "@skein/adapters/sandboxes/bubblewrap";
import { createModelBroker } from "@skein/adapters/sandboxes/model-broker";
import { KnownError } from "@skein/protocol";

/** The sandbox of Claude Code on this server, as far as the operator wants one and the machine has one. */
export interface ServerWalls {
  readonly mode: ClaudeSettings["sandbox"];
  /** Undefined: the operator does not want one, or prefers one that cannot be had. Throws where one is required. */
  open(): Promise<ClaudeWalls | undefined>;
  /** Why Claude Code cannot run: a sandbox is required and cannot be had. */
  problem(): Promise<string | undefined>;
  /**
   * Copies a working folder, for a fork. The copy is made inside the sandbox: a link that a session planted in its folder must not
   * lead the server elsewhere.
   */
  copyFolder(from: string, to: string): Promise<void>;
  close(): Promise<void>;
}

interface WallsDeps {
  readonly api: { readonly headers: Readonly<Record<string, string>>; readonly baseUrl: string | undefined };
  /** What may be called besides public addresses. */
  readonly places: NonNullable<ClaudeWalls["places"]>;
}

export function createServerWalls(
  { sandbox: mode, hosts, limits: { memoryBytes, ...limits } }: Pick<ClaudeSettings, "sandbox" | "hosts" | "limits">,
  { api, places }: WallsDeps,
): ServerWalls {
  let opened: ReturnType<typeof openBubblewrap> | undefined;
  const broker = createModelBroker({
    baseUrl: api.baseUrl ?? "https://api.anthropic.com",
    credentials: api.headers,
  });

  async function problem(): Promise<string | undefined> {
    if (mode !== "required") return undefined;
    const found = await (opened ??= openBubblewrap());
    return "problem" in found ? `Claude Code is off: this server requires a sandbox. ${found.problem}` : undefined;
  }

  return {
    mode,
    problem,
    async open() {
      if (mode === "off") return undefined;
      const reason = await problem();
      if (reason !== undefined) throw new KnownError("not_allowed", reason);
      const found = await (opened ??= openBubblewrap());
      return "problem" in found
        ? undefined
        : { sandbox: found.sandbox, broker, limits: { ...limits, totalMemoryBytes: memoryBytes }, hosts, places };
    },
    async copyFolder(from, to) {
      const found = await (opened ??= openBubblewrap());
      if ("problem" in found) return;
      const copy = found.sandbox.start({
        command: "cp",
        args: ["--archive", `${from}/.`, to],
        cwd: to,
        env: { PATH: "/usr/bin:/bin" },
        places: [
          { path: from, access: "read" },
          { path: to, access: "write" },
        ],
      });
      const { code } = await copy.ended;
      if (code !== 0)
        throw new Error(`The files of the session could not be copied for its fork: cp ended with code ${code}.`);
    },
    close: () => broker.close(),
  };
}
