import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createWorld } from "./world.ts";

const page = readFileSync(fileURLToPath(new URL("../../../../docs/guides/history.md", import.meta.url)), "utf8");
const block = /```sh\n([^`]+)```/.exec(page)?.[1] ?? "";
const commands = block.split("\n").flatMap((line) => /^skein history (.+?)(?:\s+#.*)?$/.exec(line)?.[1]?.trim() ?? []);

test("the first code block of docs/guides/history.md shows more than 15 history commands", () => {
  expect(commands.length).toBeGreaterThan(15);
});

test.each(commands)("skein history %s, from docs/guides/history.md, ends with exit code 0", async (line) => {
  const world = createWorld();
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? "");
  const args = words.map((word) => {
    if (word === "page.html") return join(world.folder, word);
    if (word === "." || word === "/work/old") return "/work/app";
    return word === "7d" ? "2026-10-20" : word;
  });
  expect(await world.run(...args)).toMatchObject({ code: 0 });
});
