import { existsSync } from "node:fs";
import type { SessionsDeps } from "@skein/core";
import type { Config } from "./config.ts";
import { openServerFiles } from "./open-files.ts";
import { fullTextMemory, memoryFileOf } from "./open-memories.ts";

/** Removes the generated files and the agent memories of a session. This data is not in the log. */
export function forgetBeside(
  storeUrl: string,
  config: Pick<Config, "filesUrl" | "dataDir" | "s3">,
): NonNullable<SessionsDeps["forget"]> {
  return async (session) => {
    const { files, close } = await openServerFiles({ ...config, storeUrl });
    try {
      await files.deleteSession?.(session.sessionId);
    } finally {
      await close();
    }
    const file = memoryFileOf(storeUrl);
    if (file !== undefined && !existsSync(file)) return;
    const memory = await fullTextMemory(storeUrl);
    try {
      await memory.forget?.(session);
    } finally {
      await memory.close();
    }
  };
}
