import { openPlainFile } from "../scan/read-file.ts";
import { closeSync, fstatSync, readSync } from "node:fs";
import { parse } from "../scan/line-text.ts";
import { numberOf, objectOf } from "../model/value.ts";

const tailBytes = 256 * 1024;

/**
 * Returns the input tokens of a transcript's last answer, which are the current size of the context. Returns null if
 * the end of the file has no answer.
 */
export function contextTokens(path: string): number | null {
  const fd = openPlainFile(path);
  try {
    const { size } = fstatSync(fd);
    const tail = Buffer.allocUnsafe(Math.min(size, tailBytes));
    const count = readSync(fd, tail, 0, tail.length, size - tail.length);
    for (let end = count; end > 0;) {
      const start = tail.lastIndexOf(0x0a, end - 1) + 1;
      const line = parse(tail, start, end);
      if (line?.["type"] === "assistant" && line["isSidechain"] !== true) {
        const usage = objectOf(objectOf(line["message"])["usage"]);
        const tokens = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"].reduce(
          (sum, key) => sum + (numberOf(usage[key]) ?? 0),
          0,
        );
        if (tokens > 0) return tokens;
      }
      end = start - 1;
    }
    return null;
  } finally {
    closeSync(fd);
  }
}
