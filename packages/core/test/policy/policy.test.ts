import { describe, expect, test } from "vitest";
import { explainPolicy, mayRunClaude } from "../../src/policy/explain-policy.ts";
import { type KeyPolicy, Policy, isAmong, isHostAmong, policyOf, tenantRules } from "../../src/policy/policy.ts";
import { policyProblem } from "../../src/policy/policy-problem.ts";
import { askedByOptions, moreThan, useRefusal } from "../../src/policy/refusals.ts";
import { chosenSandboxMode } from "../../src/policy/sandbox-mode.ts";

const ci = { name: "ci", tenant: "acme" };

describe("the rules of a key", () => {
  const policy = Policy.parse({
    tools: ["Read"],
    spendPerDayUsd: 10,
    keys: { ci: { tools: ["Read", "Bash"] }, "acme/ci": { concurrentRuns: 2 } },
  });

  test("a rule of a key replaces the general rule, and the other general rules stay", () => {
    expect(policyOf(policy, ci)).toEqual({ tools: ["Read", "Bash"], spendPerDayUsd: 10, concurrentRuns: 2 });
    expect(policyOf(policy, { name: "ci", tenant: "other" })).toEqual({ tools: ["Read", "Bash"], spendPerDayUsd: 10 });
    expect(policyOf(policy, { name: "guest", tenant: "acme" })).toEqual({ tools: ["Read"], spendPerDayUsd: 10 });
  });

  test("the rule for * also applies to a tenant that is named like a built-in property of objects", () => {
    const all = Policy.parse({ tenants: { "*": { concurrentRuns: 2 }, acme: { concurrentRuns: 9 } } });
    for (const name of ["constructor", "valueof", "other"])
      expect(tenantRules(all, name)).toEqual({ concurrentRuns: 2 });
    expect(tenantRules(all, "acme")).toEqual({ concurrentRuns: 9 });
  });

  test.each([
    [undefined, "Bash", true],
    [["Bash"], "Bash", true],
    [["Bash"], "BashOutput", false],
    [["mcp__github__*"], "mcp__github__search", true],
    [["mcp__github__*"], "mcp__git__search", false],
    [["*"], "anything", true],
    [[], "Bash", false],
  ])("the list %j contains %s: %s", (patterns, name, expected) => {
    expect(isAmong(patterns, name)).toBe(expected);
  });

  test.each([
    [["example.com"], "EXAMPLE.com.", true],
    [["example.com"], "www.example.com", false],
    [["*.example.com"], "www.example.com", true],
    [["*.example.com"], "example.com", false],
    [["*.example.com"], "evilexample.com", false],
    [["*.example.com"], "*.a.example.com", true],
    [["www.example.com"], "*.example.com", false],
  ])("the list of hosts %j contains %s: %s", (hosts, host, expected) => {
    expect(isHostAmong(hosts, host)).toBe(expected);
  });
});

describe("what a key asks for", () => {
  test.each<[what: string, policy: KeyPolicy, asked: Parameters<typeof useRefusal>[1], sentence: RegExp | undefined]>([
    ["everything without rules", {}, { runtime: "claude-code", tools: ["Bash"], models: ["opus"] }, undefined],
    ["a runtime", { runtimes: ["loop"] }, { runtime: "claude-code" }, /runtime "claude-code". It may use: loop\./],
    ["a tool", { tools: ["Read"] }, { tools: ["Read", "Bash(git *)"] }, /tool "Bash". It may use: Read\./],
    ["no tool at all", { tools: [] }, { tools: ["Read"] }, /It may use none\./],
    ["a model", { models: ["claude-haiku-*"] }, { models: [null, "claude-opus-5"] }, /model "claude-opus-5"/],
    ["a host", { hosts: ["*.example.com"] }, { hosts: ["a.example.com", "evil.test"] }, /host "evil.test"/],
    ["a mode", { permissionModes: ["default"] }, { permissionMode: "acceptEdits" }, /permission mode "acceptEdits"/],
  ])("rules of a policy are compared with what a key asks for: %s", (_, policy, asked, sentence) => {
    const refusal = useRefusal(policy, asked);
    if (sentence) expect(refusal).toMatch(sentence);
    else expect(refusal).toBeUndefined();
  });

  test("a policy also applies to the models and tools of subagents that the options of Claude Code define", () => {
    const agents = { helper: { description: "d", prompt: "p", tools: ["Bash"], model: "opus" } };
    const asked = askedByOptions({ allowed_tools: ["Read"], fallback_model: "haiku", agents });
    expect(useRefusal({ tools: ["Read"] }, asked)).toContain('"Bash"');
    expect(useRefusal({ models: ["haiku"] }, asked)).toContain('"opus"');
    expect(useRefusal({ models: ["haiku", "opus"], tools: ["Read", "Bash"] }, asked)).toBeUndefined();
  });

  test.each<[session: KeyPolicy, key: KeyPolicy, more: string | undefined]>([
    [{}, {}, undefined],
    [{}, { tools: ["Read"] }, "tools"],
    [{ tools: ["Read"] }, {}, undefined],
    [{ tools: ["mcp__a__*"] }, { tools: ["mcp__*"] }, undefined],
    [{ tools: ["mcp__*"] }, { tools: ["mcp__a__*"] }, "tools"],
    [{}, { models: ["claude-haiku-*"] }, "models"],
    [{}, { permissionModes: ["plan"] }, "permission modes"],
    [{}, { folders: [] }, "folders"],
    [{ folders: ["docs"] }, { folders: ["docs", "code"] }, undefined],
    [{ hosts: ["a.example.com"] }, { hosts: ["*.example.com"] }, undefined],
    [{}, { hosts: ["a.example.com"] }, "hosts"],
    [{ sandbox: "preferred" }, { sandbox: "required" }, "a weaker sandbox"],
    [{ sandbox: "required" }, { sandbox: "preferred" }, undefined],
  ])("a session with %j has more rights than a key with %j: %s", (session, key, more) => {
    expect(moreThan(session, key)).toBe(more);
  });
});

describe("the sandbox mode of a server", () => {
  const admin = { name: "first", tenant: "default", scopes: ["admin"] };
  test.each([
    ["one admin on loopback", { isLoopback: true, keys: [admin] }, "preferred"],
    ["an address that others reach", { isLoopback: false, keys: [admin] }, "required"],
    ["a key that is not an admin's", { isLoopback: true, keys: [admin, { ...admin, scopes: ["run"] }] }, "required"],
    ["a second tenant", { isLoopback: true, keys: [admin, { ...admin, tenant: "acme" }] }, "required"],
  ])("without a mode from the operator, the mode depends on who can reach the server: %s", (_, situation, mode) => {
    expect(chosenSandboxMode(undefined, situation).mode).toBe(mode);
  });

  test("the mode that the operator set applies even if others can reach the server", () => {
    expect(chosenSandboxMode("off", { isLoopback: false, keys: [] }).mode).toBe("off");
  });
});

describe("the problem of a policy", () => {
  const known = {
    tools: ["Bash", "Read", "lookup", "mcp__github__"],
    folders: ["docs"],
    roots: ["/srv/work"],
    hosts: ["*.example.com"],
    bypassPermissions: false,
  };
  test.each<[policy: unknown, sentence: string | undefined]>([
    [
      { tools: ["Bash", "lookup", "mcp__github__search", "mcp__*", "Re*"], folders: ["docs", "/srv/work/a"] },
      undefined,
    ],
    [{ hosts: ["api.example.com"], keys: { ci: { hosts: [] } } }, undefined],
    [{ tools: ["Bush"] }, 'policy.tools: There is no tool "Bush" on this server. Did you mean "Bash"?'],
    [
      { tools: ["Shell"] },
      'policy.tools: There is no tool "Shell" on this server. Add it to tools, or correct its name.',
    ],
    [{ keys: { ci: { tools: ["mcp__gitlab__*"] } } }, 'policy.keys.ci.tools: There is no tool "mcp__gitlab__*"'],
    [{ folders: ["/srv/workshop"] }, 'policy.folders: "/srv/workshop" is neither'],
    [{ hosts: ["example.org"] }, 'policy.hosts: "example.org" is not in claude.hosts.'],
    [{ models: [] }, "policy.models: The list is empty"],
    [{ spendAskAtPercent: 50 }, "policy.spendAskAtPercent: This is a percentage of spendPerDayUsd, which is not set."],
    [
      { tenants: { acme: { spendAskAtPercent: false } } },
      "policy.tenants.acme.spendAskAtPercent: This is a percentage of",
    ],
    [
      { tenants: { acme: { concurrentRuns: 4 } }, keys: { "acme/ci": { concurrentRuns: 10 } } },
      'policy.keys.acme/ci.concurrentRuns: 10 is more than the 4 of its tenant "acme".',
    ],
    [{ sandbox: "off", keys: { ci: { hosts: ["a.example.com"] } } }, "policy.keys.ci.hosts: Hosts are opened through"],
    [
      { runtimes: ["loop"], keys: { ci: { folders: ["docs"] } } },
      "policy.keys.ci.folders: Only Claude Code has folders",
    ],
    [
      { permissionModes: ["bypassPermissions"] },
      "policy.permissionModes: This server does not allow bypassPermissions.",
    ],
  ])("the problem of the policy %j: %s", (policy, sentence) => {
    const problem = policyProblem(Policy.parse(policy), known);
    if (sentence === undefined) expect(problem).toBeUndefined();
    else expect(problem).toContain(sentence);
  });
});

describe("a policy in plain words", () => {
  const opened = { folders: ["docs", "/srv/code"], hosts: ["*.example.com"] };
  const key = { ...ci, scopes: ["run"], isOpened: false, sandboxProblem: undefined, policy: {}, opened };
  const required = { mode: "required", because: "there are 2 tenants" } as const;
  const missing = "The sandbox needs bubblewrap.";

  test("policy explain says what a key can do, rule by rule", () => {
    const policy = { tools: ["Read"], hosts: [], spendPerDayUsd: 5, concurrentRuns: 2 };
    const text = explainPolicy({ ...key, sandbox: required, policy }).join("\n");
    expect(text).toContain(
      'The key "ci" belongs to the tenant "acme". With its scope (run) it can read the sessions of its tenant and run agents.',
    );
    expect(text).toContain("It can run Claude Code.");
    expect(text).toContain(
      "Sandbox: required, because there are 2 tenants. Commands that a model runs see only the files",
    );
    expect(text).toContain("Tools: Read.");
    expect(text).toContain("Network: commands in the sandbox can reach no host.");
    expect(text).toContain(
      "Spending: at most $5.00 per day (UTC). At 80 % of the limit, a run stops and asks a person",
    );
    expect(text).toContain("Runs at the same time: at most 2. Further runs wait and are shown as queued.");
  });

  test("policy explain says which of the opened folders and hosts a key may use", () => {
    const text = (policy: KeyPolicy): string => explainPolicy({ ...key, sandbox: required, policy }).join("\n");
    expect(text({})).toContain("Other folders that a request can name: docs, /srv/code.");
    expect(text({})).toContain("Network: commands in the sandbox can reach *.example.com.");
    expect(text({ hosts: ["a.example.com", "evil.test"] })).toContain("can reach a.example.com.");
    expect(text({ folders: [] })).toContain("Other folders that a request can name: none.");
  });

  test("policy explain says which limits all keys of the tenant share", () => {
    const tenantRules = { concurrentRuns: 9, spendPerDayUsd: 0.5, spendAskAtPercent: false } as const;
    const text = explainPolicy({ ...key, sandbox: required, tenantRules }).join("\n");
    expect(text).toContain('All keys of the tenant "acme" together: Runs at the same time: at most 9.');
    const one = explainPolicy({ ...key, sandbox: required, tenantRules: { concurrentRuns: 9 } }).join("\n");
    expect(one).not.toContain("together: Spending");
    expect(text).toContain("Spending: at most $0.50 per day (UTC). Nobody is asked before the limit is reached.");
  });

  test("a key that may only read runs nothing", () => {
    expect(explainPolicy({ ...key, sandbox: required, scopes: ["read"] })[1]).toContain("It cannot run anything");
  });

  test("policy explain says every way by which a key may run Claude Code", () => {
    const text = explainPolicy({ ...key, sandbox: { mode: "preferred", because: "" } })[1];
    for (const way of ["the scope admin", 'the sandbox is "required"', "SKEIN_CLAUDE_KEYS names this key"])
      expect(text).toContain(way);
  });

  test.each([
    ["a run key with a sandbox", { sandbox: required }, true],
    ["a run key without a sandbox", { sandbox: { mode: "preferred", because: "" } }, false],
    ["an admin without a sandbox", { sandbox: { mode: "off", because: "" }, scopes: ["admin"] }, true],
    [
      "an admin on a machine that has no sandbox although one is required",
      { sandbox: required, scopes: ["admin"], sandboxProblem: missing },
      false,
    ],
    ["a key that the operator named", { sandbox: { mode: "off", because: "" }, isOpened: true }, true],
  ] as const)("%s may run Claude Code: %s", (_, changed, may) => {
    const whole = { ...key, ...changed };
    expect(mayRunClaude(whole)).toBe(may);
    expect(explainPolicy(whole)[1]).toMatch(may ? /^It can run Claude Code/ : /^It cannot run Claude Code/);
  });
});
