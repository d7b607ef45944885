import type { SandboxPlace } from "@skein/core";
import { KnownError } from "@skein/protocol";
import type { ClaudeWalls } from "./claude-walls.ts";
import type { ResolvedOptions } from "./options.ts";
import { isWithin } from "./policy/folders.ts";

/**
 * Returns the paths that a session can use in its sandbox, besides its configuration. Read-only folders come last,
 * because a later mount covers an earlier mount.
 */
export function placesOf(options: ResolvedOptions): readonly SandboxPlace[] {
  const { cwd, identities = {} } = options;
  // The sandbox adds the working folder. If the request named the folder, it is also listed here, so that its identity
  // (device and inode) is checked.
  const named = foldersOf(options).filter((path) => path !== cwd || Object.hasOwn(identities, path));
  const commands = Object.values(options.ownServers ?? {}).flatMap(({ reads }) => reads);
  const plugins = (options.plugins ?? []).flatMap(({ enabled, path }) => (enabled && path ? [path] : []));
  return [
    ...named.map((path) => ({ path, access: "write" as const })),
    ...[...commands, ...plugins, ...readOnlyOf(options)].map((path) => ({ path, access: "read" as const })),
  ].map((place) => ({ ...place, identity: identities[place.path] }));
}

function foldersOf({ cwd, add_dirs, sandbox }: ResolvedOptions): readonly string[] {
  return [...new Set([cwd, ...add_dirs, ...(sandbox?.allowed_paths ?? [])])];
}

/**
 * Returns the read-only folders of a session: its folders inside a read-only folder, and read-only folders inside its
 * folders.
 */
function readOnlyOf(options: ResolvedOptions): readonly string[] {
  const { readOnly = [] } = options;
  return foldersOf(options).flatMap((folder) => [
    ...(readOnly.some((each) => isWithin(each, folder)) ? [folder] : []),
    ...readOnly.filter((each) => each !== folder && isWithin(folder, each)),
  ]);
}

/** Rejects a session with read-only folders if it has no sandbox. */
export function checkReadOnly(options: ResolvedOptions, walls: ClaudeWalls | undefined): void {
  if (walls || readOnlyOf(options).length === 0) return;
  throw new KnownError(
    "not_allowed",
    "The operator allows only reading in this folder. Skein can enforce that only in a sandbox, but this session has no sandbox.",
  );
}
