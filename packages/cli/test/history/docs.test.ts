import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { history } from "../../src/commands/history.ts";
import { createWorld } from "./world.ts";

const page = readFileSync(fileURLToPath(new URL("../../../../docs/guides/history.md", import.meta.url)), "utf8");
const block = /```sh\n([^`]+)```/.exec(page)?.[1] ?? "";
const commands = block.split("\n").flatMap((line) => /^skein history (.+?)(?:\s+#.*)?$/.exec(line)?.[1]?.trim() ?? []);

const WRITING: readonly string[] = ["migrate", "undo", "restore"];

test("docs/guides/history.md shows every history command that only reads", () => {
  const shown = [...page.matchAll(/skein history ([a-z]+)/g)].map(([, name]) => name);
  const reading = history.commands.map(({ name }) => name).filter((name) => !WRITING.includes(name));
  expect(shown).toEqual(expect.arrayContaining(reading));
});

// `watch` goes on until Ctrl-C.
test.each(commands.filter((line) => line !== "watch"))(
  "skein history %s, from docs/guides/history.md, ends with exit code 0",
  async (line) => {
    const world = createWorld();
    const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? "");
    const args = words.map((word) => {
      if (word === "page.html") return join(world.folder, word);
      if (word === "." || word === "/work/old") return "/work/app";
      return word === "7d" ? "2026-10-20" : word;
    });
    expect(await world.run(...args)).toMatchObject({ code: 0 });
  },
);
