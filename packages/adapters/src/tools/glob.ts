import { type Tool, defineTool } from "@skein/core";
import { z } from "zod";
import type { FolderOf } from "./call-place.ts";
import { globTest } from "./glob-pattern.ts";
import { TOO_MANY_FILES } from "./walk-folder.ts";

const MOST = 200;

/** Finds files of a folder by their names. */
export function createGlob(folderOf: FolderOf): Tool {
  return defineTool({
    name: "Glob",
    description: `Finds files of the working folder by a pattern such as **/*.ts, the latest first, ${MOST} at most.`,
    input: z.object({
      pattern: z.string().min(1).describe("The pattern of the paths, relative to `path`."),
      path: z.string().optional().describe("The folder to search. Default: the working folder."),
    }),
    policy: "repeatable",
    run: async ({ pattern, path = "." }, context) => {
      const folder = await folderOf(context);
      const fits = globTest(pattern.replace(/^\.\//, ""));
      const found: { path: string; changed: number }[] = [];
      const walked = { cut: false };
      const everywhere = /\.git|node_modules/.test(pattern);
      for await (const file of folder.files(path, { everywhere, signal: context.signal, walked }))
        if (fits(file.path)) found.push({ path: file.shown, changed: await file.changed() });
      const cut = walked.cut ? [TOO_MANY_FILES] : [];
      if (found.length === 0) return ["No file fits.", ...cut].join("\n");
      found.sort((a, b) => b.changed - a.changed || (a.path < b.path ? -1 : 1));
      const note = found.length > MOST ? [`[${found.length - MOST} more are not shown.]`] : [];
      return [...found.slice(0, MOST).map((file) => file.path), ...note, ...cut].join("\n");
    },
  });
}
