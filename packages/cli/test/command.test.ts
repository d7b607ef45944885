import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bin, call, dataFolder, environmentOf, skein, skeinProcess, start } from "./skein.ts";

test("the help lists commands and shows examples", async () => {
  const folder = dataFolder();
  const { code, out } = await skein(folder, "--help");
  expect(code).toBe(0);
  expect(out).toMatch(/Usage: skein <command>/);
  expect(out).toMatch(/ {2}serve {2,}\S/);
  expect(out).toMatch(/Examples:\n {2}skein serve/);
  expect((await skein(folder)).out).toBe(out);
  expect((await skein(folder, "help")).out).toBe(out);
});

test.each(["serve", "keys", "doctor", "run", "chat", "adopt", "sql", "mcp", "history"])(
  "skein %s --help prints the usage on stdout",
  async (command) => {
    const { code, out, err } = await skein(dataFolder(), command, "--help");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(new RegExp(`skein ${command}`));
    expect(out).toMatch(/--/);
  },
);

test("--version prints a version and nothing else", async () => {
  expect(await skeinProcess(dataFolder(), "--version")).toEqual({
    code: 0,
    out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    err: "",
  });
});

test.each([
  ["an unknown command", ["frobnicate"], /no command "frobnicate"/],
  ["an unknown option", ["serve", "--prot", "1"], /--prot/],
  ["a word that doctor does not know", ["doctor", "everything"], /Expected no words/],
  ["a port over 65535", ["serve", "--port", "65536"], /0 \(any free port\) to 65535/],
])("%s is rejected with an error message and exit code 2", async (_, args, sentence) => {
  const { code, out, err } = await skein(dataFolder(), ...args);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toMatch(sentence);
});

test("a data folder below /proc is rejected immediately", async () => {
  // The command runs in a separate process, because a call that never ends would block the other tests.
  const { code, err } = await start(dataFolder(), ["serve", "--port", "0", "--data", "/proc/skein/data"]).ended;
  expect(code).toBe(4);
  expect(err).toMatch(/The folder \/proc\/skein\/data cannot be created/);
});

test("a data folder that cannot be created is reported with an error message by the server and by doctor", async () => {
  const { code, err } = await skein(dataFolder(), "serve", "--port", "0", "--data", join(bin, "data"));
  expect(code).toBe(4);
  expect(err).toMatch(/cannot be created \(ENOTDIR\)\. Choose another folder.\n$/);
  expect(err).not.toMatch(/^\s+at /m);
  const looked = await skein(dataFolder(), "doctor", "--data", bin);
  expect(looked.code).toBe(1);
  expect(looked.out).toMatch(/wrong {2}data .* is a file\. SKEIN_DATA_DIR or --data must name a folder\./);
});

test.each([
  ["an agent that createAgent did not make", 'export default { agents: [{ name: "Plain" }] };', /made by createAgent/],
  ["a tool that defineTool did not make", 'export default { tools: [{ name: "x" }] };', /made by defineTool/],
  [
    "an agent of another copy of the package",
    'export default { agents: [{ name: "Other", run() {}, stream() {}, sessions() {} }] };',
    /skein\.config\.ts: agents: "Other" was made by createAgent of another copy .*npx skein serve/,
  ],
  [
    "a wrong value",
    'export default { policy: { models: "all" } };',
    /skein\.config\.ts: policy\.models: Expected an array/,
  ],
  ["a number", "export default 5;", /skein\.config\.ts exports no object as default\. Expected/],
  [
    "a package that is not installed",
    'import "skein";\nexport default {};',
    /Cannot find package 'skein' .*Install Skein in this project\. .*npm run pack:local -- \/\S+/,
  ],
  ["a text in place of a list", 'export default { agents: "all" };', /must be lists/],
  ["a syntax error", "export default {", /skein\.config\.ts:1 could not be loaded: /],
  ["code that throws", '\nthrow new Error("No database.");', /config\.ts:2 could not be loaded: No database\./],
])("a skein.config.ts with %s is rejected with an error message", async (_, text, sentence) => {
  const folder = dataFolder();
  const file = join(folder, "skein.config.ts");
  writeFileSync(file, text);
  const { code, err } = await skein(folder, "serve", "--port", "0", "--data", folder, "--config", file);
  expect(code).toBe(2);
  expect(err).toMatch(sentence);
  expect(err).not.toMatch(/^\s+at /m);
});

test("a config file with another ending is reported instead of ignored", async () => {
  const folder = dataFolder();
  writeFileSync(join(folder, "skein.config.js"), "export default {};\n");
  const { code, err } = await call(["serve", "--port", "0"], { env: environmentOf(folder), cwd: folder });
  expect([code, err]).toEqual([2, expect.stringContaining("the name of the config file is skein.config.ts")]);
});

test("doctor names a broken config file once", async () => {
  const folder = dataFolder();
  const file = join(folder, "skein.config.ts");
  writeFileSync(file, "export default {");
  const { out } = await call(["doctor", "--port", "0", "--json"], { env: environmentOf(folder), cwd: folder });
  expect(out.split(file)).toHaveLength(2);
});

test("an unknown option in skein.config.ts is rejected", async () => {
  const folder = dataFolder();
  const file = join(folder, "skein.config.ts");
  writeFileSync(file, "export default { agent: [] };\n");
  const { code, err } = await skein(folder, "serve", "--port", "0", "--data", folder, "--config", file);
  expect(code).toBe(2);
  expect(err).toMatch(/skein\.config\.ts has no option "agent"\. It has agents, tools, skills, claude\b.*\.\n$/);
});

test.each([
  ["an address that is not loopback, but no SKEIN_API_KEY", ["--host", "0.0.0.0"], {}, /SKEIN_API_KEY/],
  ["an invalid port", ["--port", "http"], {}, /port is "http"\. Expected a number/],
  ["an address that is not a store", ["--store", "mongodb://x"], {}, /is not a store/],
  ["an unknown engine", [], { SKEIN_ENGINE: "magic" }, /SKEIN_ENGINE/],
  ["an API key that is too short", [], { SKEIN_API_KEY: "secret" }, /16 to 500 printable/],
  ["an invalid origin", [], { SKEIN_ALLOWED_ORIGINS: "*" }, /origin looks like/],
  ["a missing history folder", [], { SKEIN_SQL_HISTORY: "/nowhere" }, /SKEIN_SQL_HISTORY has "\/nowhere"/],
  ["an unknown option", ["--prot", "1"], {}, /--prot/],
  ["an extra word", ["now"], {}, /Expected/],
])("serve with %s is rejected with an error message, and nothing is started", async (_, args, env, sentence) => {
  const folder = dataFolder();
  const { code, out, err } = await call(["serve", ...args], { env: { ...environmentOf(folder), ...env } });
  expect(err).toMatch(sentence);
  expect(err).not.toMatch(/ at .*\.ts:/);
  expect(out).toBe("");
  expect(code).toBeGreaterThan(0);
});
