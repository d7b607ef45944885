import { diffLines } from "diff";

/** If two texts have more characters in total, they are not compared: all their lines count as changed. */
const MOST = 200_000;

/** Returns the old and the new texts in the input of a call that changes a file. */
export function editsOf(input: Readonly<Record<string, unknown>>): readonly { before: string; after: string }[] {
  if (typeof input["old_string"] === "string" || typeof input["old_str"] === "string")
    return [
      { before: text(input["old_string"] ?? input["old_str"]), after: text(input["new_string"] ?? input["new_str"]) },
    ];
  if (Array.isArray(input["edits"]))
    return input["edits"].map((edit: Record<string, unknown>) => ({
      before: text(edit["old_string"]),
      after: text(edit["new_string"]),
    }));
  const whole = input["content"] ?? input["file_text"] ?? input["new_source"];
  return typeof whole === "string" ? [{ before: "", after: whole }] : [];
}

/** How many lines a call adds and removes. */
export function lineChanges(input: unknown): { added: number; removed: number } {
  let [added, removed] = [0, 0];
  for (const { before, after } of editsOf((input ?? {}) as Record<string, unknown>)) {
    if (before === "" || before.length + after.length > MOST) {
      added += lines(after);
      removed += lines(before);
      continue;
    }
    for (const part of diffLines(before, after)) {
      if (part.added) added += part.count;
      if (part.removed) removed += part.count;
    }
  }
  return { added, removed };
}

function lines(value: string): number {
  return value === "" ? 0 : value.replace(/\n$/, "").split("\n").length;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
