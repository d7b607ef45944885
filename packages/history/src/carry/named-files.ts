import { isAbsolute, resolve } from "node:path";
import { toolCallsOf } from "../get/get-tool-calls.ts";
import type { Session } from "../model/types.ts";
import { objectOf, stringOf } from "../model/value.ts";

/** The input fields in which agents give the path of a file to a tool. */
const keys = ["file_path", "filePath", "path", "absolute_path", "notebook_path", "target_file"];
/** Codex changes files by a patch. The paths of the files are in its text. */
const patched = /^\*\*\* (?:Update|Add|Delete) File: (.+)$/gm;

/** Finds the absolute paths of the files that the tools of a session read or changed. */
export function namedFiles(session: Session): readonly string[] {
  const found = new Set<string>();
  const base = session.projectPathSource === "folder" ? undefined : session.projectPath;
  const add = (path: string): void => {
    if (isAbsolute(path)) found.add(path);
    else if (base !== undefined && path !== "") found.add(resolve(base, path));
  };
  for (const call of toolCallsOf(session)) {
    const input = objectOf(call.input);
    for (const key of keys) {
      const path = stringOf(input[key]);
      if (path !== null) add(path);
    }
    for (const text of Object.values(input))
      if (typeof text === "string") for (const [, path = ""] of text.matchAll(patched)) add(path);
  }
  return [...found];
}
