import type { KeyEdit, LineEdits } from "../../../migrate/journal.ts";
import { openSessions } from "./open-sessions.ts";
import { planHistoryEdits, planKeyEdit } from "./shared-files.ts";
import type { MigrateMode, SessionMove } from "../../../migrate/types.ts";

export interface SharedEdits {
  readonly lines: readonly LineEdits[];
  readonly keys: readonly KeyEdit[];
  readonly notes: readonly string[];
}

/** Plans the edits of the files that all projects share, such as the prompt history, after sessions were migrated. */
export function sharedEdits(
  moves: readonly SessionMove[],
  { mode, isWholeWorkspace }: { readonly mode: MigrateMode; readonly isWholeWorkspace: boolean },
): SharedEdits {
  const notes: string[] = [];
  const keys: KeyEdit[] = [];
  const lines: LineEdits[] = [];
  const byPlace = new Map<string, SessionMove[]>();
  for (const move of moves) {
    const key = `${move.root}\0${move.destinationRoot}\0${move.source}`;
    byPlace.set(key, [...(byPlace.get(key) ?? []), move]);
  }
  for (const group of byPlace.values()) {
    const [first] = group;
    if (!first || first.source === "") continue;
    const { root, destinationRoot, source, destination } = first;
    const sessionIds = new Set(group.map(({ sessionId }) => sessionId));
    lines.push(...planHistoryEdits({ root, destinationRoot, sessionIds, source, destination, mode, isWholeWorkspace }));
    if (!isWholeWorkspace) continue;
    if (root !== destinationRoot) {
      notes.push("The settings of the project stay in the old data directory.");
      continue;
    }
    const edit = planKeyEdit(root, { from: source, to: destination, mode });
    if (typeof edit === "string") notes.push(edit);
    else if (edit) keys.push(edit);
    if (edit && openSessions(root).size > 0) {
      notes.push("Claude Code is running. It may undo the change of the project's settings.");
    }
  }
  return { lines, keys, notes };
}
