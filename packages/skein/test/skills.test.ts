/**
 * Skills of agents: problems of a folder are reported at the start, and the model can load only the skills of its
 * agent.
 */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Event, JsonObject } from "@skein/protocol";
import { createAgent } from "skein";
import { expect, onTestFinished, test } from "vitest";
import { scripted, simulatedAgent } from "../../core/test/loop/simulated.ts";

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "skein-skills-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

const skill = (name: string, description = `About ${name}.`, body = `Do ${name}.`): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\n\n${body}\n`;

async function loadAll(skills: readonly string[], inputs: readonly JsonObject[]) {
  const { agent, simulator } = await simulatedAgent({ system_prompt: "Be brief.", skills });
  const done: Extract<Event, { event_type: "tool.completed" }>["data"][] = [];
  const steps = [{ tools: inputs.map((input) => ({ name: "load_skill", input })) }, { text: "Done." }];
  const result = await agent.run(scripted("Load", steps), {
    onEvent: { "tool.completed": ({ data }) => void done.push(data) },
  });
  const contents = done.toSorted((a, b) => a.part - b.part).map(({ content, is_error }) => ({ content, is_error }));
  const systems = simulator.ledger
    .calls()
    .map(({ request }) => JSON.stringify((request as { system: unknown }).system));
  return { result, contents, systems };
}

test("the system prompt has the names and descriptions of the skills, sorted, but not their instructions", async () => {
  const one = folderWith({ "zebra/SKILL.md": skill("zebra", ">\n  Draws\n  zebras.", "STRIPES"), "README.md": "Hi" });
  const other = folderWith({ "ant/SKILL.md": skill("ant", '"Ants: \\"all\\" of them."') });
  const { systems, contents } = await loadAll([one, join(other, "ant")], [{ name: "zebra" }, { name: "ant" }]);
  expect(systems).toHaveLength(2);
  expect(systems[0]).toContain(String.raw`Be brief.\n\n# Skills\n`);
  expect(systems[0]).toContain(
    String.raw`- ant: Ants: \\\"all\\\" of them.\n- zebra: Draws zebras.`.replaceAll("\\\\\\", "\\"),
  );
  expect(systems[1]).toBe(systems[0]);
  expect(systems.join("")).not.toContain("STRIPES");
  expect(contents).toEqual([
    { content: "STRIPES", is_error: false },
    { content: "Do ant.", is_error: false },
  ]);
});

test("a model can load files in a skill's folder; links, large, binary and missing files, and files outside the folder are errors", async () => {
  const folder = folderWith({
    "a/SKILL.md": skill("a"),
    "a/references/more.md": "More.",
    "a/big.txt": "x".repeat(100_001),
    "a/picture": "\0\0",
    "secret.txt": "SECRET",
  });
  symlinkSync(join(folder, "secret.txt"), join(folder, "a/link.txt"));
  symlinkSync("references", join(folder, "a/inside"));
  const files = ["references/more.md", "../secret.txt", join(folder, "secret.txt"), "link.txt", "inside/more.md"];
  const rest = ["big.txt", "picture", "none.txt", "references"].map((file) => ({ name: "a", file }));
  const { contents } = await loadAll(
    [folder],
    [...files.map((file) => ({ name: "a", file })), ...rest, { name: "b" }, { name: "a", file: 3 }],
  );
  const says = contents.map(({ content, is_error }) => `${is_error ? "error: " : ""}${String(content)}`);
  expect(says).toEqual([
    "More.",
    expect.stringMatching(/^error: .*outside/),
    expect.stringMatching(/^error: .*outside/),
    expect.stringMatching(/^error: link.txt is a link/),
    expect.stringMatching(/^error: inside\/more.md is a link/),
    expect.stringMatching(/^error: big.txt has 100001 bytes, and a file of a skill may have 100000/),
    "error: picture is not text.",
    "error: There is no file none.txt.",
    "error: references is a folder.",
    'error: There is no skill "b". There are a.',
    expect.stringMatching(/^error: The input does not fit/),
  ]);
  expect(says.join("")).not.toContain("SECRET");
});

const BAD: readonly [string, Readonly<Record<string, string>>, RegExp][] = [
  ["a folder without a SKILL.md", { "a/README.md": "" }, /a has no SKILL\.md/],
  ["a folder without skills", { "README.md": "" }, /has no skills/],
  ["a file without front matter", { "a/SKILL.md": "Hi" }, /must begin with a line ---/],
  ["front matter without an end", { "a/SKILL.md": "---\nname: a\n" }, /after its fields is missing/],
  ["a line that is no field", { "a/SKILL.md": "---\nname a\n---\n" }, /Line 2 is not "field: text"/],
  ["a field that appears twice", { "a/SKILL.md": "---\nname: a\nname: b\n---\n" }, /"name" occurs twice/],
  ["a missing description", { "a/SKILL.md": "---\nname: a\n---\n" }, /has no description/],
  ["a plain text with a colon", { "a/SKILL.md": skill("a", "Use: this") }, /Put it into quotes/],
  ["a name with capitals", { "A/SKILL.md": skill("A") }, /lower-case letters/],
  ["a name with two hyphens", { "a--b/SKILL.md": skill("a--b") }, /single hyphens/],
  ["a name of 65 characters", { [`${"a".repeat(65)}/SKILL.md`]: skill("a".repeat(65)) }, /name: .*64/],
  ["a description of 1025 characters", { "a/SKILL.md": skill("a", "x".repeat(1025)) }, /description: .*1024/],
  ["another name than its folder", { "a/SKILL.md": skill("b") }, /has the name "b", and its folder is "a"/],
  ["a huge file", { "a/SKILL.md": skill("a", "A", "x".repeat(100_001)) }, /may have 100000/],
];

test("unknown fields of skills are ignored, even nested fields and lists", () => {
  const more = 'metadata: {author: me, version: "1.0"}\nallowed-tools:\n- Read\n- Bash\nlicense: MIT\n';
  const folder = folderWith({ "a/SKILL.md": skill("a").replace("description:", `${more}description:`) });
  expect(() => createAgent({ skills: [folder] })).not.toThrow();
});

test.each(BAD)("%s is an error when the agent is created", (_, files, sentence) => {
  expect(() => createAgent({ skills: [folderWith(files)] })).toThrow(sentence);
});

test("links, two skills with one name, a missing folder and a wrong option are errors when the agent is created", () => {
  const one = folderWith({ "a/SKILL.md": skill("a") });
  const other = folderWith({ "a/SKILL.md": skill("a") });
  const linked = folderWith({ "b/text": "" });
  symlinkSync(join(one, "a/SKILL.md"), join(linked, "b/SKILL.md"));
  const linkedFolder = folderWith({});
  symlinkSync(join(one, "a"), join(linkedFolder, "a"));
  expect(() => createAgent({ skills: [one, other] })).toThrow(/Two skills have the name "a"/);
  expect(() => createAgent({ skills: [one, one] })).not.toThrow();
  expect(() => createAgent({ skills: [linked] })).toThrow(/SKILL\.md is a link/);
  expect(() => createAgent({ skills: [linkedFolder] })).toThrow(/a is a link/);
  expect(() => createAgent({ skills: [join(one, "none")] })).toThrow(/There is no folder/);
  expect(() => createAgent({ skills: "x" as never })).toThrow(/"skills" must be a list of folders/);
});
