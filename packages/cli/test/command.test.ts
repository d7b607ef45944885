import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";

const bin = fileURLToPath(new URL("../bin/skein.js", import.meta.url));

function skein(...args: readonly string[]) {
  // A server that starts where it should not is ended.
  return spawnSync(process.execPath, [bin, ...args], { encoding: "utf8", timeout: 25_000 });
}

test("the help names every command and shows examples", () => {
  const { status, stdout } = skein("--help");
  expect(status).toBe(0);
  expect(stdout).toMatch(/Usage: skein <command>/);
  expect(stdout).toMatch(/ {2}serve {2,}\S/);
  expect(stdout).toMatch(/Examples:\n {2}skein serve/);
  expect(skein().stdout).toBe(stdout);
  expect(skein("help").stdout).toBe(stdout);
});

test.each(["serve", "keys", "doctor", "run", "chat", "adopt", "sql", "mcp", "history"])(
  "skein %s --help shows how it is called, on stdout",
  (command) => {
    const { status, stdout, stderr } = skein(command, "--help");
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(new RegExp(`skein ${command}`));
    expect(stdout).toMatch(/--/);
  },
);

test("--version prints a version and nothing else", () => {
  expect(skein("--version")).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
});

test.each([
  ["an unknown command", ["frobnicate"], /no command "frobnicate"/],
  ["an unknown option", ["serve", "--prot", "1"], /--prot/],
  ["a word that doctor does not know", ["doctor", "everything"], /Expected no words/],
  ["a port over 65535", ["serve", "--port", "65536"], /0 \(a free one\) to 65535/],
])("%s is answered with a sentence and exit code 2", (_, args, sentence) => {
  const { status, stdout, stderr } = skein(...args);
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(stderr).toMatch(sentence);
});

test("a data folder that cannot be made is a sentence, for the server and for doctor", () => {
  const { status, stderr } = skein("serve", "--port", "0", "--data", join(bin, "data"));
  expect(status).toBe(4);
  expect(stderr).toMatch(/no folder\.\n$/);
  expect(stderr).not.toMatch(/^\s+at /m);
  const looked = skein("doctor", "--data", bin);
  expect(looked.status).toBe(1);
  expect(looked.stdout).toMatch(/wrong {2}data .* is a file\. SKEIN_DATA_DIR or --data must name a folder\./);
});

test.each([
  ["an agent that createAgent did not make", 'export default { agents: [{ name: "Plain" }] };', /made by createAgent/],
  ["a tool that defineTool did not make", 'export default { tools: [{ name: "x" }] };', /made by defineTool/],
  ["something that is no list", 'export default { agents: "all" };', /must be lists/],
  ["half an object", "export default {", /skein\.config\.ts could not be loaded: /],
  ["an error of its own", 'throw new Error("No database.");', /could not be loaded: No database\./],
])("a skein.config.ts with %s is a sentence", (_, text, sentence) => {
  const folder = mkdtempSync(join(tmpdir(), "skein-config-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "skein.config.ts");
  writeFileSync(file, text);
  const { status, stderr } = skein("serve", "--port", "0", "--data", folder, "--config", file);
  expect(status).toBe(2);
  expect(stderr).toMatch(sentence);
  expect(stderr).not.toMatch(/^\s+at /m);
});

test("a word that nobody reads is refused in skein.config.ts", () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-config-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "skein.config.ts");
  writeFileSync(file, "export default { agent: [] };\n");
  const { status, stderr } = skein("serve", "--port", "0", "--data", folder, "--config", file);
  expect(status).toBe(2);
  expect(stderr).toMatch(/skein\.config\.ts has no option "agent"\. It has agents, tools, claude\.\n$/);
});
