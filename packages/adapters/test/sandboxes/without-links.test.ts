import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  folderIdentity,
  namesWithoutLinks,
  readWithoutLinks,
  removeWithoutLinks,
  writeWithoutLinks,
} from "../../src/sandboxes/without-links.ts";

let outside = "";
let root = "";
beforeEach(() => {
  outside = mkdtempSync(join(tmpdir(), "skein-links-"));
  root = join(outside, "root");
  mkdirSync(join(root, "folder"), { recursive: true });
  writeFileSync(join(outside, "secret"), "secret");
  writeFileSync(join(root, "folder", "file"), "own");
});
afterEach(() => rmSync(outside, { recursive: true, force: true }));

const read = (...path: string[]): string | undefined => {
  const bytes = readWithoutLinks(root, path, 1000);
  return bytes && new TextDecoder().decode(bytes);
};

test("plain files are read, listed, written and removed", () => {
  expect(read("folder", "file")).toBe("own");
  expect(namesWithoutLinks(root, ["folder"], 10)).toEqual(["file"]);
  expect(namesWithoutLinks(root, ["folder"], 0)).toEqual([]);
  expect(writeWithoutLinks(root, ["new", "deep", "file"], "written")).toBe(true);
  expect(read("new", "deep", "file")).toBe("written");
  removeWithoutLinks(root, ["new"]);
  expect(existsSync(join(root, "new"))).toBe(false);
});

test("a link at the end of a path is not followed", () => {
  symlinkSync(join(outside, "secret"), join(root, "link"));
  expect(read("link")).toBeUndefined();
  expect(writeWithoutLinks(root, ["link"], "changed")).toBe(false);
  expect(readFileSync(join(outside, "secret"), "utf8")).toBe("secret");
  removeWithoutLinks(root, ["link"]);
  expect([existsSync(join(root, "link")), existsSync(join(outside, "secret"))]).toEqual([false, true]);
});

test("a folder has an identity only if no part of its path is a link", () => {
  const { dev, ino } = statSync(join(root, "folder"));
  expect(folderIdentity(join(realpathSync(root), "folder"))).toBe(`${dev}:${ino}`);
  symlinkSync(root, join(outside, "way"));
  expect(folderIdentity(join(outside, "way", "folder"))).toBeUndefined();
  expect(folderIdentity(join(outside, "way"))).toBeUndefined();
});

test("a link in the middle of a path is not followed", () => {
  symlinkSync(outside, join(root, "way"));
  expect(read("way", "secret")).toBeUndefined();
  expect(namesWithoutLinks(root, ["way"], 10)).toEqual([]);
  expect(writeWithoutLinks(root, ["way", "planted"], "x")).toBe(false);
  removeWithoutLinks(root, ["way", "secret"]);
  expect([existsSync(join(outside, "planted")), existsSync(join(outside, "secret"))]).toEqual([false, true]);
});

test("names with `..`, pipes and files that are too large are rejected without blocking", () => {
  const climbs = `../../../../..${realpathSync(outside)}/secret`;
  expect([read("..", "secret"), read("folder", climbs), read(climbs), read("")]).toEqual(Array(4).fill(undefined));
  expect(writeWithoutLinks(root, ["folder", `../../../../..${realpathSync(outside)}/planted`], "x")).toBe(false);
  spawnSync("mkfifo", [join(root, "pipe")]);
  expect([read("pipe"), writeWithoutLinks(root, ["pipe"], "x")]).toEqual([undefined, false]);
  writeFileSync(join(root, "large"), "x".repeat(1001));
  expect(read("large")).toBeUndefined();
});
