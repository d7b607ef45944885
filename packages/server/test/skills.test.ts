/** Skills over HTTP: an agent may use only skills that the operator allowed. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folder, say, scripted, settled, testServer } from "./world.ts";

function skillFolder(...names: readonly string[]): string {
  const root = folder();
  for (const name of names) {
    mkdirSync(join(root, name));
    writeFileSync(join(root, name, "SKILL.md"), `---\nname: ${name}\ndescription: About ${name}.\n---\nDo ${name}.\n`);
  }
  return root;
}

test("an agent can load only skills that the operator allowed, by name or folder", async () => {
  const opened = skillFolder("ants", "bees");
  const closed = skillFolder("wasps");
  const { call } = await testServer({ config: { skills: [opened] } });
  const create = (skills: readonly string[]) => call("POST", "/v1/agents", { name: `A ${skills.join()}`, skills });

  for (const skills of [[closed], [join(opened, "..")], ["/"]]) {
    const { status, body } = await create(skills);
    expect([status, body.error.message]).toEqual([422, expect.stringMatching(/^skills: The folder .* is not allowed/)]);
  }
  expect((await create(["wasps"])).body.error.message).toBe(
    'skills: This server has no skill "wasps". It has ants, bees.',
  );
  expect((await create([opened])).body["config"]).toMatchObject({ skills: [{ name: "ants" }, { name: "bees" }] });

  const { body: agent } = await create(["bees"]);
  const { body: session } = await call("POST", `/v1/agents/${agent.id}/sessions`, {});
  const tools = [
    { name: "load_skill", input: { name: "bees" } },
    { name: "load_skill", input: { name: "ants" } },
  ];
  const content = scripted("Load", [{ tools }, { text: "Loaded: $LAST" }]);
  const path = `/v1/sessions/${session.id}`;
  await say(call, path, content);
  await settled(call, path);
  const { body } = await call("GET", `/v1/sessions/${session.id}/messages`);
  const log = JSON.stringify(body);
  expect(log).toContain("Do bees.");
  expect(log).toMatch(/There is no skill ..ants..\. There are bees\./);

  // A change of the tools keeps `load_skill`. An agent without skills does not have this tool.
  const patched = await call("PATCH", `/v1/agents/${agent.id}`, { frontend_tools: [] });
  expect(JSON.stringify(patched.body["config"])).toContain('"load_skill"');
  const without = await call("PATCH", `/v1/agents/${agent.id}`, { skills: [] });
  expect(without.body["config"]).toMatchObject({ skills: [], tool_schemas: [] });
  const claude = await call("POST", "/v1/agents", { name: "C", runtime: "claude-code", skills: ["bees"] });
  expect(claude.body.error.message).toMatch(/skills/);
});
