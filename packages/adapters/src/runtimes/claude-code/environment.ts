import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ResolvedOptions } from "./options.ts";

const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * The longest path of a temporary folder. Claude Code's sandbox makes sockets in this folder, and the path of a socket
 * may have at most 107 bytes.
 */
const LONGEST_TEMPORARY = 70;

interface EnvironmentParts {
  readonly configDir: string;
  readonly apiEnv: Readonly<Record<string, string>>;
  /** True if the child is in Skein's sandbox. Claude Code's sandbox is then off. */
  readonly isWalled: boolean;
}

/** Returns the whole environment of a child. The child gets no variable of this process. */
export function childEnvironment(
  options: ResolvedOptions,
  { configDir, apiEnv, isWalled }: EnvironmentParts,
): Record<string, string> {
  const temporary = temporaryFolder(configDir, isWalled);
  mkdirSync(temporary, { recursive: true, mode: 0o700 });
  return {
    PATH,
    LANG: "C.UTF-8",
    ...options.env,
    HOME: configDir,
    TMPDIR: temporary,
    CLAUDE_CONFIG_DIR: configDir,
    // These variables limit the child's requests to the configured API, and turn off background work after a turn.
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
    // The SDK's option for file checkpoints cannot be used with a session store, because the SDK would not store the
    // copies. Skein stores them.
    ...(options.enable_file_checkpointing && { CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING: "true" }),
    ...apiEnv,
  };
}

/**
 * Returns a temporary folder in the child's folder. If its path is too long for the sockets of Claude Code's sandbox,
 * returns a folder beside the child's folder.
 */
function temporaryFolder(configDir: string, isWalled: boolean): string {
  const own = join(configDir, "tmp");
  return isWalled || Buffer.byteLength(own) <= LONGEST_TEMPORARY ? own : join(dirname(configDir), "tmp");
}

/** Makes a resumed child continue the interrupted turn instead of waiting for a prompt. */
export const GO_ON = { CLAUDE_CODE_RESUME_INTERRUPTED_TURN: "1" };
