/** The source Claude Code. Its transcripts need no translation, so they are read in place. */
import { basename, join } from "node:path";
import { entriesIn } from "../port/files.ts";
import type { InPlaceSource, Problem, Unit } from "../port/source.ts";
import { getProjectsPath, usualDataPaths } from "./discover/data-paths.ts";
import { newWalk, walkRoot } from "./discover/transcripts.ts";

export const claudeCode: InPlaceSource = {
  name: "claude-code",
  reads: "in-place",
  roots: ({ env, homes }) => usualDataPaths(env, homes).map(({ path }) => path),
  // Other agents have a folder named `projects` too, but their `.jsonl` files are deeper in the folder.
  owns: (path) =>
    entriesIn(getProjectsPath(path)).some(
      (project) =>
        project.isDirectory() &&
        entriesIn(join(getProjectsPath(path), project.name)).some(({ name }) => name.endsWith(".jsonl")),
    ),
  units(root) {
    const walk = newWalk();
    walkRoot(walk, root);
    const units = walk.files.map(({ path, size, mtimeMs, inode, kind }): Unit => ({
      id: kind === "agent" ? basename(path, ".jsonl").slice("agent-".length) : basename(path, ".jsonl"),
      stamp: `${size}.${mtimeMs}.${inode}`,
      mtimeMs,
      root,
      path,
      bytes: size,
    }));
    const problems = walk.skipped.flatMap(({ path, reason }): Problem[] =>
      reason === "unreadable" ? [{ path, message: reason }] : [],
    );
    return { units, problems };
  },
};
