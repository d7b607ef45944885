import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBubblewrap } from "@skein/adapters/sandboxes/bubblewrap";
import { placesWith } from "@skein/adapters/tools";
import { expect, onTestFinished, test } from "vitest";
import { hasBubblewrap } from "../../../sql/test/bubblewrap.ts";
import { codeOf } from "../../src/serve/config-file.ts";
import { createServerWalls } from "../../src/serve/claude-walls.ts";

test.for([
  { machine: "with", skip: !hasBubblewrap, find: () => openBubblewrap() },
  { machine: "without", skip: false, find: () => openBubblewrap(() => undefined) },
])(
  "on a machine $machine bubblewrap, a fork gets its parent's files, and a link stays a link",
  async (how, { skip }) => {
    skip(how.skip, "bubblewrap is not installed");
    const api = { headers: {}, baseUrl: undefined };
    const walls = createServerWalls(codeOf({}).claude, { api, places: placesWith([]), find: how.find });
    onTestFinished(() => walls.close());
    const folder = mkdtempSync(join(tmpdir(), "skein-claude-walls-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const [parent, fork] = [join(folder, "parent"), join(folder, "fork")];
    mkdirSync(join(parent, "src"), { recursive: true });
    mkdirSync(fork);
    writeFileSync(join(folder, "secret"), "of the server");
    writeFileSync(join(parent, "src/note"), "mine");
    symlinkSync(join(folder, "secret"), join(parent, "link"));
    await walls.copyFolder(parent, fork);
    expect(readFileSync(join(fork, "src/note"), "utf8")).toBe("mine");
    expect(lstatSync(join(fork, "link")).isSymbolicLink()).toBe(true);
    expect(readlinkSync(join(fork, "link"))).toBe(join(folder, "secret"));
  },
);
