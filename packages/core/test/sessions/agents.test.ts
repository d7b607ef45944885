import { createIds } from "@skein/protocol";
import { describe, expect, test } from "vitest";
import { createAgents } from "../../src/sessions/agents.ts";
import { createModels } from "../../src/sessions/models.ts";
import { createMemoryStore } from "../../src/memory-store/memory-store.ts";

const input = { name: "Helper", model: "claude-sonnet-4-5" };
const nobody = "01890000-0000-7000-8000-0000000000ff";

function bench(tenant?: string) {
  let time = Date.UTC(2026, 0, 7, 12);
  const { records } = createMemoryStore();
  const deps = { records, ids: createIds(), now: () => (time += 1000), ...(tenant !== undefined && { tenant }) };
  return { records, agents: createAgents(deps), models: createModels(deps) };
}

describe("agents", () => {
  test("a new agent has version 1, is active, and has the platform API's columns from its configuration", async () => {
    const { agents } = bench();
    const agent = await agents.create({ ...input, description: "d", system_prompt: "s", tags: ["a"] });
    expect(agent).toMatchObject({
      version: 1,
      status: "active",
      name: "Helper",
      description: "d",
      system_prompt: "s",
      default_model_id: null,
      tags: ["a"],
      config: { name: "Helper", model: "claude-sonnet-4-5", max_steps: 50 },
    });
    expect(agent.created_at).toBe(agent.updated_at);
    expect(agent.config).not.toHaveProperty("tags");
    expect(await agents.get(agent.id)).toEqual(agent);
  });

  test("every change of an agent makes a new version, and every version can be read", async () => {
    const { agents } = bench();
    const first = await agents.create(input);
    const second = await agents.patch(first.id, { name: "Better" });
    expect(second).toMatchObject({ version: 2, name: "Better", config: { name: "Better", model: input.model } });
    expect(second.updated_at > first.updated_at).toBe(true);
    expect(second.created_at).toBe(first.created_at);
    expect(await agents.version(first.id, 1)).toEqual(first);
    expect(await agents.version(first.id, 2)).toEqual(second);
    await expect(agents.version(first.id, 3)).rejects.toMatchObject({ code: "not_found" });
  });

  test("versions of an agent are listed newest first, page by page", async () => {
    const { agents } = bench();
    const { id } = await agents.create(input);
    for (const name of ["Two", "Three", "Four"]) await agents.patch(id, { name });
    const page = await agents.versions(id, { limit: 3 });
    expect(page.items.map(({ version, name }) => [version, name])).toEqual([
      [4, "Four"],
      [3, "Three"],
      [2, "Two"],
    ]);
    const rest = await agents.versions(id, { limit: 3, cursor: page.cursor ?? "" });
    expect([rest.items.map(({ version }) => version), rest.cursor]).toEqual([[1], null]);
    expect((await agents.versions(id)).cursor).toBeNull();
    await expect(agents.versions("00000000-0000-7000-8000-000000000000")).rejects.toMatchObject({ code: "not_found" });
  });

  test("an agent is changed only at the version that the caller expects", async () => {
    const { agents } = bench();
    const { id } = await agents.create(input);
    await agents.patch(id, { name: "One" }, 1);
    await expect(agents.patch(id, { name: "Two" }, 1)).rejects.toMatchObject({ code: "conflict" });
    expect(await agents.get(id)).toMatchObject({ name: "One", version: 2 });
  });

  test("if an agent is changed many times at once, one change succeeds and the others are rejected", async () => {
    const { agents } = bench();
    const { id } = await agents.create(input);
    const patched = await Promise.allSettled(
      Array.from({ length: 5 }, (_, n) => agents.patch(id, { name: `n${n}` }, 1)),
    );
    expect(patched.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect((await agents.get(id)).version).toBe(2);
  });

  test.each([
    ["no name", { model: "m" }],
    ["no model", { name: "n" }],
    ["an unknown field", { ...input, temperature: 1 }],
    ["a status, which is set by archiving", { ...input, status: "archived" }],
    ["an invalid model id", { ...input, default_model_id: "sonnet" }],
    ["51 tags", { ...input, tags: Array.from({ length: 51 }, (_, n) => `t${n}`) }],
  ])("an agent with %s is rejected", async (_, agent) => {
    const { agents } = bench();
    await expect(agents.create(agent as typeof input)).rejects.toMatchObject({ code: "invalid" });
    const { id } = await agents.create(input);
    await expect(agents.patch(id, { max_steps: 0 })).rejects.toMatchObject({ code: "invalid" });
    expect((await agents.get(id)).version).toBe(1);
  });

  test("agents are archived, not deleted", async () => {
    const { agents } = bench();
    const { id } = await agents.create(input);
    expect(await agents.archive(id)).toMatchObject({ status: "archived", version: 2 });
    expect((await agents.list({ status: "archived" })).items.map((agent) => agent.id)).toEqual([id]);
    expect((await agents.list({ status: "active" })).items).toEqual([]);
  });

  test("agents are listed newest first, by status and by tag", async () => {
    const { agents } = bench();
    const first = await agents.create({ ...input, tags: ["a"] });
    const second = await agents.create({ ...input, tags: ["a", "b"] });
    const listed = async (query: Parameters<typeof agents.list>[0]) =>
      (await agents.list(query)).items.map(({ id }) => id);
    expect(await listed({})).toEqual([second.id, first.id]);
    expect(await listed({ tag: "b" })).toEqual([second.id]);
    await agents.archive(second.id);
    expect(await listed({ tag: "a", status: "active" })).toEqual([first.id]);
    const page = await agents.list({ limit: 1 });
    expect((await agents.list({ limit: 1, cursor: page.cursor ?? "" })).items[0]?.id).toBe(first.id);
  });

  test("a tenant can neither see, change nor archive agents of another tenant", async () => {
    const { agents, records } = bench("acme");
    const { id } = await agents.create(input);
    const others = createAgents({ records, tenant: "other" });
    for (const tried of [() => others.get(id), () => others.patch(id, {}), () => others.archive(id)])
      await expect(tried()).rejects.toMatchObject({ code: "not_found" });
    expect((await others.list()).items).toEqual([]);
  });
});

test("an edit that changes nothing makes no version", async () => {
  const { agents } = bench();
  const made = await agents.create({ name: "A", model: "claude-sonnet-4-5", tags: ["x"] });
  expect(await agents.patch(made.id, {})).toEqual(made);
  expect(await agents.patch(made.id, { tags: ["x"] }, 1)).toEqual(made);
  expect(await agents.patch(made.id, { tags: ["y"] })).toMatchObject({ version: 2 });
  const archived = await agents.archive(made.id);
  expect(archived).toMatchObject({ version: 3, status: "archived" });
  expect(await agents.archive(made.id)).toEqual(archived);
});

describe("models", () => {
  test("models are added and found by id", async () => {
    const { models } = bench();
    const model = await models.add({ name: "claude-sonnet-4-5" });
    expect(model).toMatchObject({ provider: "anthropic", is_default: false });
    expect(await models.get(model.id)).toEqual(model);
    await expect(models.get(nobody)).rejects.toMatchObject({ code: "not_found" });
  });

  test("only one model is the default: the last one that was made default", async () => {
    const { models } = bench();
    expect(await models.default()).toBeUndefined();
    await models.add({ name: "claude-sonnet-4-5", isDefault: true });
    const second = await models.add({ name: "claude-opus-5", isDefault: true });
    expect((await models.default())?.id).toBe(second.id);
    expect((await models.list()).filter(({ is_default }) => is_default)).toHaveLength(1);
  });

  test("a model name exists once, and adding the model again can make it the default", async () => {
    const { models } = bench();
    const first = await models.add({ name: "claude-sonnet-4-5" });
    await models.add({ name: "claude-opus-5", isDefault: true });
    expect(await models.add({ name: "claude-sonnet-4-5" })).toEqual(first);
    expect(await models.add({ name: "claude-sonnet-4-5", isDefault: true })).toEqual({ ...first, is_default: true });
    expect(await models.default()).toMatchObject({ id: first.id });
    expect(await models.list()).toHaveLength(2);
  });

  test.each(["", "m".repeat(101), "a\0b"])("a model name like %j is rejected", async (name) => {
    await expect(bench().models.add({ name })).rejects.toMatchObject({ code: "invalid" });
  });
});

test.each([
  ["temperature", { temperature: 0.5 }],
  ["top_k", { top_k: 5 }],
  ["top_p", { top_p: 0.5 }],
])("%s together with thinking is rejected, in a new agent and in a change", async (name, api_kwargs) => {
  const { agents } = bench();
  const refused = { code: "invalid", message: expect.stringContaining(`api_kwargs.${name}`) };
  await expect(agents.create({ ...input, thinking_tokens: 2000, api_kwargs })).rejects.toMatchObject(refused);
  const { id } = await agents.create({ ...input, api_kwargs });
  await expect(agents.patch(id, { thinking_tokens: 2000 })).rejects.toMatchObject(refused);
  expect((await agents.get(id)).version).toBe(1);
});
