import { existsSync, lstatSync } from "node:fs";
import { join } from "node:path";
import { filesBelow } from "../../../disk/durable-files.ts";

/** Lists the files of a data directory for an archive. Settings, credentials and caches are not archived. */
export function keptFiles(root: string): readonly string[] {
  const folders = ["projects", "file-history", "plans", "todos", "tasks"];
  const files = folders.flatMap((name) => filesBelow(join(root, name)).files);
  const history = join(root, "history.jsonl");
  const plain = files.filter(
    (path) => lstatSync(path, { throwIfNoEntry: false })?.isFile() && !/\/\.(lock|skein)/.test(path),
  );
  return existsSync(history) ? [...plain, history] : plain;
}
