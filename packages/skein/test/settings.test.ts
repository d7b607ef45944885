import { tmpdir } from "node:os";
import { isAbsolute } from "node:path";
import { type ServerOptions, createAgent, createServer } from "skein";
import { expect, test } from "vitest";
import { readConfig } from "../src/config.ts";
import { codeOf } from "../src/serve/config-file.ts";
import { serveSettings } from "../src/serve/settings.ts";

test("an empty HOME puts nothing into the working folder", () => {
  const home = process.env["HOME"];
  process.env["HOME"] = "";
  try {
    expect(isAbsolute(readConfig({}).dataDir)).toBe(true);
  } finally {
    if (home === undefined) delete process.env["HOME"];
    else process.env["HOME"] = home;
  }
});

test("two agents of one name are refused, and one that several others use is not", () => {
  const helper = createAgent({ name: "helper" });
  const using = (name: string) => createAgent({ name, subagents: [helper] });
  expect(codeOf({ agents: [using("A"), using("B")] }).agents).toHaveLength(3);
  expect(() => codeOf({ agents: [using("A"), using("A")] })).toThrow(/the name "A"/);
});

test("an address of the model that is none is refused before anything is opened", () => {
  expect(() => serveSettings({}, readConfig({ ANTHROPIC_BASE_URL: "localhost:4010" }))).toThrow(/ANTHROPIC_BASE_URL/);
});

test("createServer refuses an option that it does not have", async () => {
  const options = { prot: 0, data: tmpdir() } as ServerOptions;
  await expect(createServer(options)).rejects.toMatchObject({ code: "invalid" });
});
