import { setTimeout as delay } from "node:timers/promises";
import { orphanedFiles } from "@skein/core";
import { openServerFiles, serveSettings } from "skein/serve";
import { counted } from "../terminal/counts.ts";
import { type Group, defineCommand } from "../terminal/command.ts";
import { openExisting } from "../terminal/existing-store.ts";
import { EXIT } from "../terminal/exit-codes.ts";
import { JSON_OPTION } from "../terminal/shared-options.ts";
import { SERVER_OPTIONS, SERVER_PLACE } from "./server-options.ts";

/**
 * The time between two searches. Only files that both searches find are orphaned: an append stores its files first and
 * its events less than this time later.
 */
const GRACE_MS = 60_000;

const orphans = defineCommand({
  name: "files orphans",
  summary:
    "Find files whose session is not in the store. Such files remain if a process is killed, or if a session is deleted while the bucket is unreachable. If the command finds such files, it takes a minute.",
  options: {
    delete: {
      about:
        "Delete these files. Do not use this if two installations share a bucket and prefix: each would delete the other's files",
    },
    ...SERVER_PLACE,
    files: SERVER_OPTIONS.files,
    json: JSON_OPTION,
  },
  examples: ["skein files orphans", "skein files orphans --files s3://agents/prod --delete"],
  async run({ values, config, screen }) {
    const { storeUrl, filesUrl, dataDir } = serveSettings(values, config);
    const store = await openExisting(values.store ?? config.storeUrl, storeUrl);
    const { files, close } = await openServerFiles({ storeUrl, filesUrl, dataDir, s3: config.s3 });
    try {
      const looking = screen.progress("Looking for files without a session");
      const found = await orphanedFiles(store, files, () => delay(GRACE_MS)).finally(looking);
      for (const sessionId of found) {
        if (values.delete) await files.deleteSession?.(sessionId);
        if (values.json) screen.json({ session_id: sessionId, deleted: values.delete });
        else screen.out(`${sessionId}${values.delete ? "  deleted" : ""}\n`);
      }
      if (!values.json)
        screen.note(
          `${counted(found.length, "session")} with files but without a log.${found.length > 0 && !values.delete ? " --delete removes the files." : ""}\n`,
        );
      return EXIT.completed;
    } finally {
      await Promise.all([store.close(), close()]);
    }
  },
});

export const files: Group = { name: "files", summary: "the files that sessions have stored", commands: [orphans] };
