import type { SandboxPlace } from "@skein/core";
import { KnownError } from "@skein/protocol";
import type { ClaudeWalls } from "./claude-walls.ts";
import type { ResolvedOptions } from "./options.ts";
import { isWithin } from "./policy/folders.ts";

/**
 * What a session may see in addition to its configuration. Read-only folders come last, because a later mount covers an
 * earlier one.
 */
export function placesOf(options: ResolvedOptions): readonly SandboxPlace[] {
  const { cwd, identities = {} } = options;
  // Every process sees its working folder. A working folder that the session named is listed here, so that it is
  // checked.
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
 * The folders that a session may only read: its own folders inside a read-only folder, and read-only folders inside its
 * own.
 */
function readOnlyOf(options: ResolvedOptions): readonly string[] {
  const { readOnly = [] } = options;
  return foldersOf(options).flatMap((folder) => [
    ...(readOnly.some((each) => isWithin(each, folder)) ? [folder] : []),
    ...readOnly.filter((each) => each !== folder && isWithin(folder, each)),
  ]);
}

/** Rejects a session without a sandbox if it has a folder that it may only read. */
export function checkReadOnly(options: ResolvedOptions, walls: ClaudeWalls | undefined): void {
  if (walls || readOnlyOf(options).length === 0) return;
  throw new KnownError(
    "not_allowed",
    "The operator allows only reading in this folder. Skein can enforce that only in a sandbox, but this session runs without one.",
  );
}
