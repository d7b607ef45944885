/**
 * A request cannot give a child process access to the machine, except by names and folders that the operator allowed.
 */
import { mkdir, mkdtemp, realpath, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ClaudePolicy, ClaudeSettings, createClaudePolicy } from "@skein/adapters/runtimes/claude-code/policy";
import { placesWith } from "@skein/adapters/tools";
import { createMemoryStore } from "@skein/core";
import { ClaudeOptions } from "@skein/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

let folder = "";
let root = "";
const { records } = createMemoryStore();
const request = { tenant: "a", sessionId: "s", key: "tester", isAdmin: false };

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "skein-policy-")));
  root = join(folder, "root");
  await mkdir(join(root, "project"), { recursive: true });
  await mkdir(join(folder, "root-evil"));
  await mkdir(join(folder, "plugin"));
  await writeFile(join(root, "file"), "");
  await symlink(folder, join(root, "out"));
  await symlink(join(root, "project"), join(root, "in"));
});
afterAll(() => rm(folder, { recursive: true }));

function policy(settings: Record<string, unknown> = {}, allowedAddresses: readonly string[] = []): ClaudePolicy {
  return createClaudePolicy({
    settings: ClaudeSettings.parse(settings),
    records,
    defaultFolder: () => join(folder, "default"),
    places: placesWith(allowedAddresses),
  });
}

const asked = (options: object): Partial<ClaudeOptions> => {
  const whole = ClaudeOptions.parse(options);
  return Object.fromEntries(Object.entries(whole).filter(([name]) => Object.hasOwn(options, name)));
};

/** Returns the error code with which the schema or the policy rejects a request. */
async function refusal(options: object, settings: object = {}): Promise<string> {
  const parsed = ClaudeOptions.safeParse(options);
  if (!parsed.success) return "invalid";
  try {
    await policy({ ...settings }).admit(asked(options), request);
    return "admitted";
  } catch (error) {
    // The error repeats the path of the request, and tells nothing else about the server's folders.
    expect((error as Error).message.replaceAll(String(asked(options).cwd), "")).not.toContain(folder);
    return (error as { code: string }).code;
  }
}

describe("closed by default", () => {
  test.each([
    ["extra_args", { "dangerously-skip-permissions": null }, "arg_not_allowed"],
    ["extra_args", { settings: "/x" }, "arg_not_allowed"],
    ["extra_args", { "mcp-config": "{}" }, "arg_not_allowed"],
    ["extra_args", { "-p": null }, "arg_not_allowed"],
    ["extra_args", { "a b": null }, "arg_not_allowed"],
    ...[
      "LD_PRELOAD",
      "NODE_OPTIONS",
      "ANTHROPIC_BASE_URL",
      "ANTHROPIC_API_KEY",
      "PATH",
      "GIT_SSH_COMMAND",
      "BASH_ENV",
      "CLAUDE_CONFIG_DIR",
      "constructor",
    ].map((name) => ["env", { [name]: "x" }, "not_allowed"] as const),
    ["cwd", "/etc", "not_allowed"],
    ["cwd", "/nowhere/at/all", "not_allowed"],
    ["cwd", "relative", "invalid"],
    ["cwd", "\0", "invalid"],
    ["cwd", "/etc\0/x", "invalid"],
    ["add_dirs", ["--dangerously-skip-permissions", "/"], "invalid"],
    ["add_dirs", ["/"], "not_allowed"],
    ["sandbox", { allowed_paths: ["/etc"] }, "not_allowed"],
    ["settings", "/etc/passwd", "not_allowed"],
    ["settings", "https://example.com/settings.json", "not_allowed"],
    ["settings", '{"hooks":{}}', "not_allowed"],
    ["settings", "__proto__", "not_allowed"],
    ["plugins", [{ name: "x", path: "/tmp/evil" }], "not_allowed"],
    ["plugins", [{ name: "constructor" }], "not_allowed"],
    ["mcp_servers", { x: { type: "stdio", command: "sh", args: ["-c", "id"] } }, "not_allowed"],
    ["mcp_servers", { x: { command: "toString" } }, "not_allowed"],
    ["mcp_servers", { "x,y": { type: "http", url: "https://example.com" } }, "invalid"],
    ["permission_mode", "bypassPermissions", "not_allowed"],
    ["permission_prompt_tool_name", "--settings=/x", "invalid"],
    ["allowed_tools", ["Read,Bash"], "invalid"],
    ["allowed_tools", ["mcp__x Write"], "invalid"],
    ["allowed_tools", ["Bash(*)"], "invalid"],
    ["allowed_tools", ["--dangerously-skip-permissions"], "invalid"],
    ["disallowed_tools", ["Bash\nRead"], "invalid"],
    ["agents", { a: { description: "d", prompt: "p", tools: ["Task"] } }, "invalid"],
    ["agents", { a: { description: "d", prompt: "p", tools: ["Agent(x)"] } }, "invalid"],
    ["agents", { a: { description: "d", prompt: "p", permissionMode: "bypassPermissions" } }, "invalid"],
    ["agents", { a: { description: "d", prompt: "p", mcpServers: [{ x: { command: "sh" } }] } }, "invalid"],
    ["model", "gpt-4", "invalid"],
    ["hooks", { Stop: { url: "https://example.com", matcher: "(?=x)" } }, "invalid"],
    ["hooks", { Stop: { url: "https://example.com", matcher: "(a)\\1" } }, "invalid"],
    ["hooks", { Stop: { url: "https://example.com", matcher: "a{1,2000}" } }, "invalid"],
    ["hooks", { Stop: { url: "https://example.com", matcher: "[" } }, "invalid"],
    ["hooks", { Stop: { url: "https://example.com", matcher: "a".repeat(10_000) } }, "invalid"],
    ["hooks", { Stop: { url: "https://example.com", headers: { Host: "x" } } }, "invalid"],
    ["hooks", { Stop: { url: "https://example.com", headers: { "Webhook-Signature": "x" } } }, "invalid"],
    ["hooks", { Stop: { url: "https://example.com", headers: { a: "b\r\nX: y" } } }, "invalid"],
    ["hooks", { Stop: { url: "https://example.com", headers: { "a b": "c" } } }, "invalid"],
    ["hooks", { Stop: { url: "https://example.com", headers: { a: `secret:${"0".repeat(24)}` } } }, "invalid"],
    [
      "mcp_servers",
      { x: { type: "http", url: "https://example.com", headers: { "transfer-encoding": "x" } } },
      "invalid",
    ],
  ] as const)("by default, the option %s with the value %j is rejected with %s", async (field, value, code) => {
    expect(await refusal({ [field]: value })).toBe(code);
  });

  test.each([
    ["env", { env: { TZ: "UTC" } }, "claude.env"],
    ["extra_args", { extra_args: { "debug-to-stderr": null } }, "claude.extraArgs"],
    ["settings", { settings: "team" }, "claude.settings"],
    ["plugins", { plugins: [{ name: "review" }] }, "claude.plugins"],
    ["mcp_servers", { mcp_servers: { x: { command: "tickets" } } }, "claude.mcpServers"],
    ["permission_mode", { permission_mode: "bypassPermissions" }, "claude.bypassPermissions"],
  ])("the error for %s names the setting that allows it", async (_, options, setting) => {
    const sentence = `The operator can allow it with ${setting} in skein.config.ts.`;
    await expect(policy().admit(asked(options), request)).rejects.toThrow(sentence);
  });

  test("options that need no access to the machine are allowed", async () => {
    const options = {
      allowed_tools: ["Read", "Bash(git *)", "mcp__docs__search", "mcp__docs__*"],
      disallowed_tools: ["WebFetch"],
      permission_mode: "acceptEdits",
      model: "haiku",
      max_turns: 3,
      system_prompt: "Be kind.",
      agents: { a: { description: "d", prompt: "p", tools: ["Read"] } },
      mcp_servers: { docs: { type: "http", url: "https://mcp.example.com/mcp" } },
      hooks: { PreToolUse: { url: "https://hooks.example.com/", matcher: "^(a+)+$" } },
      setting_sources: [],
      sandbox: { enabled: true },
    };
    expect(await refusal(options)).toBe("admitted");
  });
});

/** Spellings of private addresses that URL parsers accept. */
const ADDRESSES = [
  "127.0.0.1",
  "127.1",
  "2130706433",
  "0x7f.1",
  "0177.0.0.1",
  "①②⑦.⓪.⓪.①",
  "127。0。0。1",
  "0",
  "0.0.0.0",
  "[::]",
  "[::1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[::ffff:169.254.169.254]",
  "[64:ff9b::7f00:1]",
  "[2002:7f00:1::]",
  "[::127.0.0.1]",
  "169.254.169.254",
  "[fd00:ec2::254]",
  "10.1.2.3",
  "172.16.0.1",
  "192.168.0.1",
  "100.64.0.1",
  "198.18.0.1",
  "192.0.2.1",
  "224.0.0.1",
  "255.255.255.255",
  "localhost",
  "localhost.",
  "x.localhost",
  "user@127.0.0.1",
  "example.com@127.0.0.1",
  "metadata.google.internal",
  "user:password@example.com",
  "example.com:22",
  "example.com:6379",
];

test.each(ADDRESSES)("a hook or an MCP server at %s is rejected", async (address) => {
  const url = `http://${address}/x`;
  for (const options of [{ hooks: { Stop: { url } } }, { mcp_servers: { x: { type: "http", url } } }]) {
    const parsed = ClaudeOptions.safeParse(options);
    if (parsed.success) expect(await refusal(options)).toBe("url_not_allowed");
  }
});

test.each(["file:///etc/passwd", "gopher://x/", "ftp://x/", "data:text/html,x", "http+unix://x/"])(
  "a hook at %s is rejected",
  async (url) => expect(await refusal({ hooks: { Stop: { url } } })).toBe("invalid"),
);

describe("settings of the operator that allow more", () => {
  const settings = () => ({
    roots: [root],
    folders: { work: join(folder, "plugin") },
    env: ["MY_TOKEN"],
    extraArgs: ["verbose-level"],
    settings: { strict: { permissions: { deny: ["Bash"] } } },
    plugins: { lint: join(folder, "plugin") },
    mcpServers: {
      git: { command: "/usr/bin/git-mcp", args: ["--stdio"], env: { GIT_TOKEN: "canary-git" } },
      docs: { type: "http", url: "http://docs.example.com/mcp" },
      wiki: { type: "http", url: "http://10.0.0.7/mcp", headers: { authorization: "canary-wiki" } },
    },
  });

  test.each([
    [{ cwd: "root" }, "admitted"],
    [{ cwd: "root/project" }, "admitted"],
    [{ cwd: "root/in" }, "admitted"],
    [{ cwd: "root/out" }, "not_allowed"],
    [{ cwd: "root/out/root-evil" }, "not_allowed"],
    [{ cwd: "root/project/../../root-evil" }, "not_allowed"],
    [{ cwd: "root-evil" }, "not_allowed"],
    [{ cwd: "root/missing" }, "invalid"],
    [{ cwd: "root/file" }, "invalid"],
  ] as const)('with the root folder "root", the option %j gives %s', async ({ cwd }, code) => {
    expect(await refusal({ cwd: `${folder}/${cwd}` }, settings())).toBe(code);
  });

  test("the error for a folder contains the folder and the setting that allows it, but not the target of a link", async () => {
    const link = join(root, "out");
    await expect(policy({ roots: [root] }).admit(asked({ cwd: link }), request)).rejects.toThrow(
      `cwd: The operator of this server does not allow the folder "${link}". The operator can add it to roots in skein.config.ts: claude: { roots: ["${link}"] }.`,
    );
  });

  test("the options for the log have the real paths of folders", async () => {
    const admitted = await policy(settings()).admit(
      asked({ cwd: join(root, "in"), add_dirs: ["work"], sandbox: { allowed_paths: [join(root, "in")] } }),
      request,
    );
    expect(admitted).toMatchObject({
      cwd: join(root, "project"),
      add_dirs: [join(folder, "plugin")],
      sandbox: { allowed_paths: [join(root, "project")] },
    });
  });

  test.each([
    [{ env: { MY_TOKEN: "x" } }, "admitted"],
    [{ env: { MY_TOKEN: "a\0b" } }, "invalid"],
    [{ env: { my_token: "x" } }, "not_allowed"],
    [{ extra_args: { "verbose-level": "3" } }, "admitted"],
    [{ extra_args: { "verbose-level": "--settings=/x" } }, "invalid"],
    [{ settings: "strict" }, "admitted"],
    [{ plugins: [{ name: "lint" }] }, "admitted"],
    [{ plugins: [{ name: "lint", path: "/tmp/evil" }] }, "not_allowed"],
    [{ mcp_servers: { g: { command: "git" } } }, "admitted"],
    [{ mcp_servers: { g: { command: "/usr/bin/git-mcp", args: ["--stdio"] } } }, "admitted"],
    [{ mcp_servers: { g: { command: "/usr/bin/git-mcp", args: ["--stdio", "--evil"] } } }, "not_allowed"],
    [{ mcp_servers: { g: { command: "git", env: { GIT_TOKEN: "mine" } } } }, "not_allowed"],
    [{ mcp_servers: { w: { command: "wiki" } } }, "admitted"],
    [{ mcp_servers: { w: { command: "docs" } } }, "admitted"],
    [{ mcp_servers: { w: { type: "http", url: "http://docs.example.com/admin" } } }, "not_allowed"],
  ])("with the operator's settings, the options %j give %s", async (options, code) => {
    expect(await refusal(options, settings())).toBe(code);
  });

  test("the child gets the inodes of its folders, and a link that replaced an allowed folder is rejected when the child starts", async () => {
    const opened = policy({ roots: [root] });
    const place = join(root, "swapped");
    await mkdir(place);
    const { dev, ino } = await stat(place);
    const kept = ClaudeOptions.parse(await opened.admit({ cwd: place, add_dirs: [join(root, "project")] }, request));
    const { identities } = await opened.resolve(kept, request);
    expect(identities).toEqual({ [place]: `${dev}:${ino}`, [join(root, "project")]: expect.any(String) as string });
    await rm(place, { recursive: true });
    await symlink(folder, place);
    await expect(opened.resolve(kept, request)).rejects.toMatchObject({ code: "not_allowed" });
    await rm(place);
  });

  test("names in a request are replaced by the operator's values only when the child starts", async () => {
    const opened = policy(settings());
    const kept = await opened.admit(
      asked({
        settings: "strict",
        plugins: [{ name: "lint" }],
        mcp_servers: { g: { command: "git" }, w: { command: "wiki" } },
      }),
      request,
    );
    expect(JSON.stringify(kept)).not.toContain("canary");
    const resolved = await opened.resolve(ClaudeOptions.parse(kept), request);
    expect(resolved).toMatchObject({
      cwd: join(folder, "default"),
      settings: { permissions: { deny: ["Bash"] } },
      plugins: [{ path: join(folder, "plugin") }],
      mcp_servers: {
        g: { type: "stdio", command: "/usr/bin/git-mcp", args: ["--stdio"], env: { GIT_TOKEN: "canary-git" } },
        w: { type: "http", url: "http://10.0.0.7/mcp", headers: { authorization: "canary-wiki" } },
      },
    });
    expect(resolved.secrets).toEqual(expect.arrayContaining(["canary-git", "canary-wiki"]));
    await expect(policy().resolve(ClaudeOptions.parse(kept), request)).rejects.toMatchObject({ code: "not_allowed" });
  });

  test("subagents may start subagents if the operator allows it", async () => {
    const options = { agents: { a: { description: "d", prompt: "p", tools: ["Task"] } } };
    expect(await refusal(options, { nestedAgents: true })).toBe("admitted");
  });

  test.each([
    ["LD_PRELOAD", "env"],
    ["ANTHROPIC_API_KEY", "env"],
    ["BASH_FUNC_x%%", "env"],
    ["dangerously-skip-permissions", "extraArgs"],
    ["settings", "extraArgs"],
    ["--verbose", "extraArgs"],
    ["relative", "roots"],
  ])("%s is rejected as a value of the setting %s", (value, setting) => {
    expect(ClaudeSettings.safeParse({ [setting]: [value] }).success).toBe(false);
  });
});

describe("permissions are bypassed", () => {
  const bypass = asked({ permission_mode: "bypassPermissions", sandbox: { enabled: true } });
  const admin = { ...request, sessionId: "bypass", key: "tester", isAdmin: true };

  test("permissions are bypassed only for an admin key, with the sandbox on, if the operator allows it", async () => {
    const opened = policy({ bypassPermissions: true });
    const refused = { code: "not_allowed" };
    await expect(policy().admit(bypass, admin)).rejects.toMatchObject(refused);
    await expect(opened.admit(bypass, { ...admin, key: "tester", isAdmin: false })).rejects.toMatchObject(refused);
    await expect(opened.admit({ permission_mode: "bypassPermissions" }, admin)).rejects.toMatchObject(refused);
    expect(await opened.admit(bypass, admin)).toMatchObject(bypass);
    // Further runs need only the name of the mode, because the session already has its sandbox.
    expect(await opened.admit({ permission_mode: "bypassPermissions" }, admin)).toEqual({
      permission_mode: "bypassPermissions",
    });
  });

  test("a run does not bypass permissions merely because its log says so", async () => {
    const opened = policy({ bypassPermissions: true });
    const options = ClaudeOptions.parse(bypass);
    await expect(opened.resolve(options, { tenant: "a", sessionId: "forged" })).rejects.toMatchObject({
      code: "not_allowed",
    });
    await opened.admit(bypass, { ...admin, sessionId: "granted" });
    expect(await opened.resolve(options, { tenant: "a", sessionId: "granted" })).toMatchObject({
      env: { IS_SANDBOX: "1" },
    });
    await expect(opened.resolve(options, { tenant: "b", sessionId: "granted" })).rejects.toThrow();
    await opened.inherit("granted", "its-fork", "a");
    expect(await opened.resolve(options, { tenant: "a", sessionId: "its-fork" })).toMatchObject(bypass);
  });
});

describe("secrets", () => {
  const given = () =>
    asked({
      env: { MY_TOKEN: "canary-env" },
      hooks: {
        Stop: {
          url: "https://hooks.example.com/canary-path?key=canary-query",
          headers: { authorization: "Bearer canary-header" },
          secret: `whsec_${Buffer.from("canary-secret-canary-secret").toString("base64")}`,
        },
      },
      mcp_servers: { x: { type: "sse", url: "https://mcp.example.com/canary", headers: { "x-key": "canary-mcp" } } },
    });
  const session = { ...request, sessionId: "with-secrets" };
  const opened = () => policy({ env: ["MY_TOKEN"] });

  test("secrets of a request are not written to the log, but the child gets them", async () => {
    const kept = await opened().admit(given(), session);
    expect(JSON.stringify(kept)).not.toMatch(/canary|Y2FuYXJ5/);
    expect(kept.hooks?.Stop?.url).toMatch(/^https:\/\/hooks\.example\.com\/secret:/);
    const { env, hooks, mcp_servers } = await opened().resolve(ClaudeOptions.parse(kept), session);
    expect({ env, hooks, mcp_servers }).toEqual(given());
  });

  test("secrets of another tenant or session cannot be read with their placeholder", async () => {
    const kept = ClaudeOptions.parse(await opened().admit(given(), session));
    const gone = "A secret of this session no longer exists";
    await expect(opened().resolve(kept, { ...session, tenant: "b" })).rejects.toThrow(gone);
    await expect(opened().resolve(kept, { ...session, sessionId: "other" })).rejects.toThrow(gone);
    // A placeholder cannot be used in a request to send the secret somewhere else.
    await expect(opened().admit({ env: kept.env }, session)).rejects.toMatchObject({ code: "invalid" });
  });

  test("the secrets of a session stay if a run has other secrets, are copied to a fork, and are removed with the session", async () => {
    const kept = ClaudeOptions.parse(await opened().admit(given(), session));
    const other = await opened().admit(
      asked({ hooks: { Stop: { url: "https://other.example.com/canary-2" } } }),
      session,
    );
    const whole = await opened().resolve({ ...kept, ...other }, session);
    expect(whole.hooks?.Stop?.url).toBe("https://other.example.com/canary-2");
    expect((await opened().resolve(kept, session)).hooks).toEqual(given().hooks);

    await opened().inherit(session.sessionId, "fork", "a");
    expect((await opened().resolve(kept, { ...session, sessionId: "fork" })).env).toEqual({ MY_TOKEN: "canary-env" });
    await opened().forget(session.sessionId, "a");
    await expect(opened().resolve(kept, session)).rejects.toThrow("no longer exists");
  });
});
