import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { ResolvedOptions } from "./options.ts";

const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The whole environment of a child. Nothing of this process's own gets into it. */
export function childEnvironment(
  options: ResolvedOptions,
  { configDir, apiEnv }: { readonly configDir: string; readonly apiEnv: Readonly<Record<string, string>> },
): Record<string, string> {
  const temporary = join(configDir, "tmp");
  mkdirSync(temporary, { recursive: true, mode: 0o700 });
  return {
    PATH,
    LANG: "C.UTF-8",
    ...options.env,
    HOME: configDir,
    TMPDIR: temporary,
    CLAUDE_CONFIG_DIR: configDir,
    // No traffic but to the configured API, and nothing that goes on after its turn.
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
    // The SDK's own option for this refuses to work with a session store, because it does not keep the copies. We do.
    ...(options.enable_file_checkpointing && { CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING: "true" }),
    ...apiEnv,
  };
}

/** Makes a resumed child go on with the turn that broke off, instead of waiting for a prompt. */
export const GO_ON = { CLAUDE_CODE_RESUME_INTERRUPTED_TURN: "1" };
