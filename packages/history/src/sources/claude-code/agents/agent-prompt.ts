import { closeSync, readSync } from "node:fs";
import type { DataFile } from "../../../model/data-file.ts";
import { parseLine } from "../../../scan/parse-line.ts";
import { objectOf } from "../../../model/value.ts";
import { openPlainFile } from "../../../scan/read-file.ts";
import { resultText } from "../transcript/to-message.ts";

/** Reads the task of a subagent: the text of the first line. Empty if the first line is not a user line. */
export function firstPromptOf(file: DataFile): string {
  let fd: number;
  try {
    fd = openPlainFile(file.path);
  } catch {
    return "";
  }
  try {
    const head = Buffer.allocUnsafe(Math.min(file.size, 256 * 1024));
    const count = readSync(fd, head, 0, head.length, 0);
    const end = head.subarray(0, count).indexOf(0x0a);
    const bytes = head.subarray(0, end < 0 ? count : end);
    const [line] = parseLine(bytes, { line: 1, offset: 0 }, () => {});
    return line?.value["type"] === "user" ? resultText(objectOf(line.value["message"])["content"]) : "";
  } finally {
    closeSync(fd);
  }
}
