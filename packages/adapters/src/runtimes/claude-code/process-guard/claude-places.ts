import { realpathSync } from "node:fs";
import { dirname, isAbsolute } from "node:path";
import type { SandboxPlace } from "@skein/core";
import { PROXY_SOCKET, withForwarder } from "../../../sandboxes/host-gate.ts";

/** The program that the SDK starts. Same fields as `SpawnOptions`. */
export interface ChildRequest {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/** The program and the paths that a child can use in its sandbox. */
export interface ChildRoom {
  /** The path of the program inside the sandbox. */
  readonly command: string;
  /** Arguments that come before the program's own arguments. */
  readonly before?: readonly string[];
  readonly places: readonly SandboxPlace[];
}

/** Paths inside the sandbox: Claude Code's program, and its connection to the model. */
const CLAUDE = "/opt/claude";
export const BROKER_SOCKET = "/run/broker.sock";

/**
 * Returns the sandbox content for a Claude Code process: its program, its configuration, its working folder, and the
 * session's other folders. `files` are the files that contain the child's secret arguments.
 *
 * Folders have the same path inside and outside, because Claude Code names its transcripts after them.
 */
export function claudeRoom(
  request: ChildRequest,
  files: readonly string[],
  places: readonly SandboxPlace[],
): ChildRoom {
  const { cwd, env } = request;
  const program = programOf(request);
  const own = [cwd, env["CLAUDE_CONFIG_DIR"], env["HOME"]].filter((path) => path !== undefined);
  const hasProxy = places.some(({ inside }) => inside === PROXY_SOCKET);
  return {
    ...(hasProxy ? withForwarder(program.command) : program),
    places: [
      ...program.places,
      ...[...new Set(own)].map((path) => ({ path, access: "write" as const })),
      ...files.map((path) => ({ path, access: "read" as const })),
      ...places,
    ],
  };
}

/**
 * Returns the program and its paths. Claude Code is a native program in one file. The operator's executable may be a
 * script that needs the files beside it.
 */
function programOf({ command, args: [script = ""] }: ChildRequest): ChildRoom {
  if (isAbsolute(command))
    return { command: CLAUDE, places: [{ path: realpathSync(command), access: "read", inside: CLAUDE }] };
  const interpreter = { path: realpathSync(process.execPath), access: "read", inside: CLAUDE } as const;
  return { command: CLAUDE, places: [interpreter, { path: dirname(realpathSync(script)), access: "read" }] };
}
