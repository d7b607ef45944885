import type { SandboxMode, ToolContext, Workplace } from "@skein/core";
import { openSandbox } from "../sandboxes/bubblewrap/index.ts";
import { type ConfinedFolder, createConfinedFolder } from "./confined-folder.ts";
import { createSandboxedFolder } from "./sandboxed-folder.ts";

/** Returns the folder for a call of a tool, and the sandbox for the programs that the call starts. */
export type PlaceOf = (context: Pick<ToolContext, "workplace">) => Promise<Workplace>;
/** Returns a folder that the paths of a call cannot leave. */
export type FolderOf = (context: Pick<ToolContext, "workplace" | "signal">) => Promise<ConfinedFolder>;

/**
 * Returns a function that finds the workplace of a call: its folder and its sandbox. On a server, it is the workplace
 * of the session. A configured `folder` replaces the folder of the session.
 */
export function placesOf({
  folder,
  mode,
}: {
  readonly folder: string | undefined;
  readonly mode: SandboxMode;
}): PlaceOf {
  return async ({ workplace }) => {
    const place = (await workplace?.()) ?? { ...(await withoutServer(mode)), folder: undefined };
    const own = folder ?? place.folder;
    if (own === undefined) throw new Error("This tool has no folder here. Set a folder: standardTools({ folder }).");
    return { ...place, folder: own };
  };
}

/** If the session has a sandbox, files are opened in the sandbox too. */
export function confinedFolderOf(placeOf: PlaceOf): FolderOf {
  return async (context) => {
    const { folder, sandbox, limits } = await placeOf(context);
    return sandbox
      ? createSandboxedFolder(folder, { sandbox, limits, signal: context.signal })
      : createConfinedFolder(folder);
  };
}

async function withoutServer(mode: SandboxMode): Promise<Omit<Workplace, "folder">> {
  if (mode === "off") return { sandbox: undefined };
  const found = await openSandbox();
  if ("sandbox" in found) return { sandbox: found.sandbox };
  if (mode === "preferred") return { sandbox: undefined };
  return { sandbox: undefined, refusal: `Bash is off: a sandbox is required. ${found.problem}` };
}
