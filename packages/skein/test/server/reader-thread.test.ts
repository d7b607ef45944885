import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createReaderThread } from "../../src/serve/history/reader-thread.ts";

test("if the reader of coding agents' files runs out of memory, a request that ran alone is too large, and requests that ran together may be sent again", async () => {
  const cacheFolder = mkdtempSync(join(tmpdir(), "skein-reader-"));
  onTestFinished(() => rmSync(cacheFolder, { recursive: true, force: true }));
  // With this limit, the reader runs out of memory while it starts.
  const thread = createReaderThread({ roots: [cacheFolder], cacheFolder }, { memoryMb: 4 });
  onTestFinished(() => thread.close());
  const { signal } = new AbortController();
  const list = () => thread.ask("list", [{}], signal);
  const together = await Promise.allSettled([list(), list()]);
  expect(together).toMatchObject([{ reason: { code: "closed" } }, { reason: { code: "closed" } }]);
  await expect(list()).rejects.toMatchObject({ code: "too_large" });
});
