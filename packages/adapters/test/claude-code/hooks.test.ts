/**
 * Hooks of Claude Code, which Skein calls as webhooks: the requests, the effect of the answers, and missing answers.
 * The receivers are real servers.
 */
import { createHmac } from "node:crypto";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { existsSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { type HookedSession, type HooksDeps, createHooks } from "@skein/adapters/runtimes/claude-code/hooks";
import { type Event, HOOK_EVENTS, HookWebhook, HooksConfig } from "@skein/protocol";
import { script } from "@skein/simulator";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ClaudeCodeDeps } from "@skein/adapters/runtimes/claude-code";
import { claudeAgent, createWorld, play, until } from "./world.ts";

const SECRET = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;

interface Received {
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** Starts a receiver on this machine that gives scripted answers and records its requests. */
async function receiver(answer: (response: ServerResponse, body: Record<string, unknown>) => void = (r) => r.end()) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString("utf8")));
    request.on("end", () => {
      received.push({ headers: request.headers, body });
      answer(response, JSON.parse(body) as Record<string, unknown>);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    received,
    bodies: () => received.map(({ body }) => JSON.parse(body) as Record<string, unknown>),
  };
}

const says =
  (answer: object) =>
  (response: ServerResponse): void =>
    void response.end(JSON.stringify(answer));

let count = 0;
const deps: HooksDeps = {
  now: Date.now,
  ids: () => `id-${(count += 1)}`,
  secret: async () => SECRET,
  allowsAddress: (address) => address === "127.0.0.1",
  allowsPort: () => true,
};

/** Calls one hook as the SDK would. */
async function call(config: object, input: object, with_: Partial<HooksDeps> = {}) {
  const written: Parameters<HookedSession["wrote"]>[0]["data"][] = [];
  const [event = ""] = Object.keys(config);
  const session: HookedSession = {
    sessionId: "the-session",
    hooks: HooksConfig.parse(config),
    runId: () => null,
    wrote: async ({ data }) => void written.push(data),
  };
  const hooks = createHooks(session, { ...deps, ...with_ });
  const [name = "PreToolUse"] = Object.keys(hooks) as (keyof typeof hooks)[];
  const base = { session_id: "sdk", transcript_path: "/secret/path", cwd: "/secret/cwd", hook_event_name: event };
  const callback = hooks[name]?.[0]?.hooks[0];
  const output = await callback?.({ ...base, ...input } as never, "toolu_1", { signal: new AbortController().signal });
  return { output, written };
}

const bash = { tool_name: "Bash", tool_input: { command: "ls" }, tool_use_id: "toolu_1" };

test("the receiver gets the Claude API's payload with a signature, and no path of this machine", async () => {
  const { url, received } = await receiver();
  const secret = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;
  await call(
    { PostToolUse: { url, headers: { "x-mine": "1" }, secret } },
    { ...bash, tool_response: "out", duration_ms: 3 },
  );
  const [{ headers, body }] = received as [Received];
  expect(JSON.parse(body)).toEqual({
    hook_event: "PostToolUse",
    session_id: "the-session",
    run_id: null,
    tool_use_id: "toolu_1",
    tool_name: "Bash",
    tool_input: { command: "ls" },
    tool_result: "out",
    result_data: { duration_ms: 3 },
  });
  expect(headers).toMatchObject({ "x-mine": "1", "content-type": "application/json" });
  const text = `${headers["webhook-id"] as string}.${headers["webhook-timestamp"] as string}.${body}`;
  const signature = createHmac("sha256", Buffer.alloc(32, 9)).update(text).digest("base64");
  expect(headers["webhook-signature"]).toBe(`v1,${signature}`);
  expect(body).not.toContain("/secret");
});

test.each([
  [
    { decision: "allow", reason: "fine", modified_input: { command: "pwd" } },
    { permissionDecision: "allow", permissionDecisionReason: "fine", updatedInput: { command: "pwd" } },
  ],
  [
    { decision: "deny", reason: "no" },
    { permissionDecision: "deny", permissionDecisionReason: "no" },
  ],
  [{ decision: "ask" }, { permissionDecision: "ask" }],
  [{ decision: "approve" }, { permissionDecision: "allow" }],
  [{}, {}],
])("the answer %j to the hook PreToolUse has the expected effect", async (answer, expected) => {
  const { url } = await receiver(says(answer));
  const { output, written } = await call({ pre_tool_use: { url } }, { ...bash, hook_event_name: "PreToolUse" });
  expect(output).toEqual({ hookSpecificOutput: { hookEventName: "PreToolUse", ...expected } });
  expect(written).toMatchObject([{ hook_event: "PreToolUse", tool_name: "Bash", tool_use_id: "toolu_1", error: null }]);
});

test.each([
  [
    "PermissionRequest",
    { decision: "allow", modified_input: { a: 1 } },
    {
      hookSpecificOutput: {
        hookEventName: "PermissionRequest",
        decision: { behavior: "allow", updatedInput: { a: 1 } },
      },
    },
  ],
  [
    "PermissionRequest",
    { decision: "deny", reason: "no" },
    { hookSpecificOutput: { hookEventName: "PermissionRequest", decision: { behavior: "deny", message: "no" } } },
  ],
  ["PermissionRequest", { decision: "ask" }, {}],
  ["UserPromptSubmit", { decision: "deny", reason: "no" }, { decision: "block", reason: "no" }],
  [
    "UserPromptSubmit",
    { additional_context: "Mind the gap." },
    { hookSpecificOutput: { hookEventName: "UserPromptSubmit", additionalContext: "Mind the gap." } },
  ],
  ["Stop", { decision: "deny", reason: "not yet" }, { decision: "block", reason: "not yet" }],
  ["Notification", {}, {}],
])("for a hook of the event %s, the answer %j has the expected effect", async (event, answer, expected) => {
  const { url } = await receiver(says(answer));
  expect((await call({ [event]: { url } }, {})).output).toEqual(expected);
});

test.each([
  [{ decision: "allow" }, ["PermissionRequest"]],
  [{ decision: "deny" }, ["PermissionRequest"]],
  [{ decision: "ask" }, ["PermissionRequest", "Notification"]],
  [{}, ["PermissionRequest", "Notification"]],
])(
  "if a hook answers a permission request with %j, the Notification hook is called unless the answer allows or denies the call",
  async (answer, told) => {
    const { url, bodies } = await receiver(says(answer));
    const config = { PermissionRequest: { url }, Notification: { url } };
    await call(config, { ...bash, hook_event_name: "PermissionRequest" });
    await until(() => bodies().length === told.length);
    expect(bodies().map(({ hook_event }) => hook_event)).toEqual(told);
  },
);

describe("without a valid answer", () => {
  const broken: Record<string, (response: ServerResponse) => void> = {
    "a 500": (response) => void response.writeHead(500).end(),
    "a 404": (response) => void response.writeHead(404).end(),
    "a redirect": (response) => void response.writeHead(302, { location: "http://169.254.169.254/" }).end(),
    "no JSON": (response) => void response.end("allow"),
    "an unknown decision": says({ decision: "maybe" }),
    "a decision of the wrong type": says({ decision: "allow", modified_input: "rm" }),
    "a gzip": (response) =>
      void response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync('{"decision":"allow"}')),
    "many encodings": (response) => void response.writeHead(200, { "content-encoding": "gzip, ".repeat(500) }).end("x"),
    "more than a megabyte": (response) => void response.end(`{"decision":"allow","x":"${"x".repeat(2_000_000)}"}`),
    "nothing in time": () => {},
    "a body that never ends": (response) => void response.write('{"decision":"allow"'),
    "a cut connection": (response) => void response.destroy(),
  };
  test.each(Object.keys(broken))(
    "after %s, a call that needs a decision is denied, and other events continue",
    async (name) => {
      const { url } = await receiver(broken[name]);
      const isLate = name === "nothing in time" || name === "a body that never ends";
      const timeout = isLate ? 1 : 60;
      const [pre, permission, stop] = await Promise.all([
        call({ PreToolUse: { url, timeout } }, bash),
        call({ PermissionRequest: { url, timeout } }, bash),
        call({ Stop: { url, timeout } }, {}),
      ]);
      expect(pre.output).toMatchObject({ hookSpecificOutput: { permissionDecision: "deny" } });
      expect(permission.output).toMatchObject({ hookSpecificOutput: { decision: { behavior: "deny" } } });
      expect(stop.output).toEqual({});
      for (const { written } of [pre, permission, stop])
        expect(written).toMatchObject([{ error: { code: isLate ? "hook_timeout" : "hook_failed" } }]);
      expect(JSON.stringify([pre, permission, stop])).not.toContain(url);
    },
  );

  test("an unavailable receiver is called again, with the same id", async () => {
    let times = 0;
    const { url, received } = await receiver((response) => {
      times += 1;
      response.writeHead(times === 1 ? 503 : 200).end('{"decision":"allow"}');
    });
    const { output } = await call({ PreToolUse: { url } }, bash);
    expect(output).toMatchObject({ hookSpecificOutput: { permissionDecision: "allow" } });
    expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    expect(received).toHaveLength(2);
  });

  test("an answer of a hook cannot change prototypes of objects", async () => {
    const { url } = await receiver(
      (response) =>
        void response.end(
          '{"decision":"allow","modified_input":{"__proto__":{"isAdmin":true}},"__proto__":{"decision":"allow"}}',
        ),
    );
    await call({ PreToolUse: { url } }, bash);
    expect(({} as Record<string, unknown>)["isAdmin"]).toBeUndefined();
  });
});

test("a private address is not called through a name, even if the name also has a public address", async () => {
  const { port, received } = await receiver();
  const url = `http://hooks.example.com:${port}/`;
  const meanings = [["127.0.0.1"], ["0.0.0.0"], ["93.184.216.34", "127.0.0.1"], ["::1"]];
  let asked = 0;
  let stop = new AbortController();
  const lookup = ((_name: string, _options: object, done: (error: null, found: object[]) => void) => {
    const found = meanings[asked % meanings.length] ?? [];
    asked += 1;
    done(
      null,
      found.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
    // One attempt is enough for this test. Without the abort, the hook would be called again.
    setImmediate(() => stop.abort());
  }) as unknown as NonNullable<HooksDeps["lookup"]>;
  const { allowsAddress: _, ...strict } = deps;
  const hooks = createHooks(
    { sessionId: "s", hooks: { Stop: HookWebhook.parse({ url }) }, runId: () => null, wrote: async () => {} },
    { ...strict, lookup },
  );
  for (let time = 0; time < 100; time += 1) {
    stop = new AbortController();
    await hooks.Stop?.[0]?.hooks[0]?.({ hook_event_name: "Stop" } as never, undefined, { signal: stop.signal });
  }
  expect(asked).toBeGreaterThanOrEqual(100);
  expect(received).toEqual([]);
});

test.each([
  ["Bash", "Bash", true],
  ["Edit|Write", "Write", true],
  ["Edit", "NotebookEdit", false],
  ["mcp__.*", "mcp__docs__search", true],
  ["*", "Bash", true],
  ["^(a+)+$", `${"a".repeat(50)}!`, false],
])("the matcher %s is applied to the tool %s", async (matcher, tool_name, isCalled) => {
  const { url, received } = await receiver();
  const { output } = await call({ PreToolUse: { url, matcher } }, { ...bash, tool_name });
  expect(received).toHaveLength(isCalled ? 1 : 0);
  if (!isCalled) expect(output).toEqual({});
});

describe("with the real Claude Code", () => {
  const world = (hooks: object, children: ClaudeCodeDeps["children"] = {}) =>
    createWorld({
      children,
      hooksOf: ({ sessionId, runId, wrote }) =>
        createHooks({ sessionId, runId, wrote, hooks: HooksConfig.parse(hooks) }, deps),
    });
  const called = (events: readonly Event[]) =>
    events.flatMap((event) => (event.event_type === "hook.called" ? [event.data] : []));

  test("one hook changes the input of a tool, another rejects a call, and the log has both", async () => {
    const { url, bodies } = await receiver((response, { tool_input }) => {
      const { command } = tool_input as { command: string };
      if (command.includes("forbidden")) return says({ decision: "deny", reason: "Not this one." })(response);
      return says({ decision: "allow", modified_input: { command: command.replace("one", "two") } })(response);
    });
    const stops = await receiver();
    const { run, cwd } = await world({
      PreToolUse: { url, matcher: "Bash" },
      Stop: { url: stops.url },
      UserPromptSubmit: { url: stops.url },
      SessionStart: { url: stops.url },
    });
    const { events } = await run(
      play(
        { tools: [{ name: "Bash", input: { command: "touch one" } }] },
        { tools: [{ name: "Bash", input: { command: "touch forbidden" } }] },
        { text: "Done." },
      ),
    );
    expect([existsSync(`${cwd}/one`), existsSync(`${cwd}/two`), existsSync(`${cwd}/forbidden`)]).toEqual([
      false,
      true,
      false,
    ]);
    expect(bodies()).toMatchObject([
      { hook_event: "PreToolUse", tool_name: "Bash", tool_input: { command: "touch one" } },
      { hook_event: "PreToolUse", tool_name: "Bash", tool_input: { command: "touch forbidden" } },
    ]);
    expect(new Set(stops.bodies().map(({ hook_event }) => hook_event))).toEqual(
      new Set(["SessionStart", "UserPromptSubmit", "Stop"]),
    );
    expect(called(events)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          hook_event: "PreToolUse",
          decision: "allow",
          modified_input: { command: "touch two" },
        }),
        expect.objectContaining({ hook_event: "PreToolUse", decision: "deny", reason: "Not this one." }),
      ]),
    );
  });

  test("a tool does not run if its hook gives no answer", async () => {
    const { url, received } = await receiver(() => {});
    const { run, cwd } = await world({ PreToolUse: { url, timeout: 1 } });
    const { events } = await run(
      play({ tools: [{ name: "Bash", input: { command: "touch it" } }] }, { text: "Done." }),
      {
        allowed_tools: ["Bash"],
      },
    );
    await until(() => received.length > 0);
    expect(existsSync(`${cwd}/it`)).toBe(false);
    expect(called(events)).toMatchObject([{ decision: "deny", error: { code: "hook_timeout" } }]);
  });

  test("hooks can be set for all events at once (here without WorktreeCreate), and those of twelve events are called", async () => {
    const { url, bodies } = await receiver((response, { hook_event }) =>
      says(hook_event === "PermissionRequest" ? { decision: "allow" } : {})(response),
    );
    const events = HOOK_EVENTS.filter((event) => event !== "WorktreeCreate");
    const { run, again, cwd } = await world(Object.fromEntries(events.map((event) => [event, { url }])));
    const helper = { description: "Helps", prompt: script([{ text: "Helped." }], "helper"), subagent_type: "helper" };
    const { sessionId, events: first } = await run(
      play(
        { tools: [{ name: "Bash", input: { command: "exit 3" } }] },
        { tools: [{ name: "Write", input: { file_path: `${cwd}/asked.txt`, content: "yes" } }] },
        { tools: [{ name: "Agent", input: helper }] },
        { text: "Done." },
      ),
      { allowed_tools: ["Bash", "Agent"], agents: { helper: { description: "Helps", prompt: "Help." } } },
    );
    expect(first.at(-1)?.event_type).toBe("session.completed");
    expect(existsSync(`${cwd}/asked.txt`)).toBe(true);
    await again(sessionId, "/compact");
    const heard = new Set(bodies().map(({ hook_event }) => hook_event));
    for (const event of [
      "SessionStart",
      "UserPromptSubmit",
      "PreToolUse",
      "PostToolUse",
      "PostToolUseFailure",
      "PostToolBatch",
      "PermissionRequest",
      "SubagentStart",
      "SubagentStop",
      "PreCompact",
      "PostCompact",
      "Stop",
    ])
      expect(heard).toContain(event);
    for (const body of bodies()) expect(body).toMatchObject({ session_id: sessionId });
  });

  test("the SessionEnd hook of a session is called when its idle process is ended for another session, and when the server stops", async () => {
    const { url, bodies } = await receiver();
    const { run, stop } = await world({ SessionStart: { url }, SessionEnd: { url } }, { maxIdle: 1 });
    const ends = (): unknown[] =>
      bodies().flatMap(({ hook_event, session_id }) => (hook_event === "SessionEnd" ? [session_id] : []));
    const first = await run(play({ text: "One." }));
    expect(ends()).toEqual([]);
    // Only one idle process may stay, so the second session ends the process of the first session.
    const second = await run(play({ text: "Two." }));
    await until(() => ends().length === 1);
    expect(ends()).toEqual([first.sessionId]);
    await stop();
    expect(ends()).toEqual([first.sessionId, second.sessionId]);
  });

  test("the Notification hook is called when a session waits for a permission or for an answer to a question", async () => {
    const { url, bodies } = await receiver();
    const { sessions, cwd } = await world({ Notification: { url } });
    const question = {
      question: "Which?",
      header: "W",
      multiSelect: false,
      options: [
        { label: "A", description: "a" },
        { label: "B", description: "b" },
      ],
    };
    const tools = [
      { name: "Write", input: { file_path: `${cwd}/asked.txt`, content: "yes" } },
      { name: "AskUserQuestion", input: { questions: [question] } },
    ];
    for (const tool of tools) {
      const { sessionId } = await sessions.begin(claudeAgent({ cwd }), {
        content: play({ tools: [tool] }, { text: "Done." }),
      });
      const told = await until(() => bodies().find(({ session_id }) => session_id === sessionId));
      expect(told).toMatchObject({
        hook_event: "Notification",
        result_data: { message: `Claude Code waits for you: ${tool.name}.` },
      });
      await until(async () =>
        (await sessions.events(sessionId)).some(({ event_type }) => event_type === "await.opened"),
      );
      await sessions.cancel(sessionId, {});
    }
  });
});
