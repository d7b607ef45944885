import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createSimulator, script } from "@skein/simulator";
import { describe, expect, onTestFinished, test } from "vitest";
import { call, dataFolder, environmentOf, lines, skein, skeinProcess, start } from "./skein.ts";

const agentFile = fileURLToPath(new URL("agent.ts", import.meta.url));

describe("skein run", () => {
  test("skein run prints the answer to stdout, and steps, tokens and cost to stderr", async () => {
    const prompt = `Hello ${script([{ text: "Good day.\nHow are you?" }])}`;
    // The command runs in a separate process, because the sentence about the simulation is printed once per process.
    const { code, out, err } = await start(dataFolder(), ["run", prompt]).ended;
    expect({ code, out }).toEqual({ code: 0, out: "Good day.\nHow are you?\n" });
    expect(err).toMatch(
      /^No ANTHROPIC_API_KEY is set: the model is a simulation\. Its answers are made up and cost nothing\.\nCompleted · 1 step · \d+ tokens in, \d+ out · \$0\.\d+ · session [0-9a-f-]{36}\n$/,
    );
  });

  test("an unknown model is reported, although the simulation answers", async () => {
    const folder = dataFolder();
    const unknown = await skein(folder, "run", "Hi", "--model", "xyz");
    expect([unknown.code, unknown.err]).toEqual([0, expect.stringContaining('"xyz" is not a model that Skein knows.')]);
    expect((await skein(folder, "run", "Hi", "--model", "claude-haiku-4-5")).err).not.toContain("not a model");
  });

  test("in production a missing API key is an error without a note about the simulation", async () => {
    const env = { ...environmentOf(dataFolder()), NODE_ENV: "production" };
    const { code, out, err } = await call(["run", "Hello"], { env });
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(/^No ANTHROPIC_API_KEY is set, and NODE_ENV is production\. .*\n$/);
  });

  test("--prompt-cache chooses how long the provider keeps the conversation", async () => {
    const simulator = await createSimulator();
    onTestFinished(() => simulator.close());
    const folder = dataFolder();
    const env = { ...environmentOf(folder), ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: simulator.url };
    for (const [time, marks] of [
      ["off", []],
      ["long", ['{"type":"ephemeral","ttl":"1h"}']],
    ] as const) {
      const args = ["run", script([{ text: "Done." }], time), "--system", "Be brief.", "--prompt-cache", time];
      expect(await call(args, { env, cwd: folder })).toMatchObject({ code: 0 });
      const asked = JSON.stringify(simulator.ledger.calls({ label: time }).at(-1)?.request);
      expect([...new Set(asked.match(/(?<="cache_control":)\{.*?\}/g) ?? [])]).toEqual(marks);
    }
    const wrong = await call(["run", "Hi", "--prompt-cache", "forever"], { env, cwd: folder });
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining("off, short, long") });
  });

  test("skein run shows text as it arrives", async () => {
    const prompt = script([{ text: "one two three four", chunk: 4, chunkDelayMs: 300 }]);
    const started = start(dataFolder(), ["run", prompt]);
    const early = await started.says("one ");
    expect(early).not.toContain("four");
    expect((await started.ended).out).toBe("one two three four\n");
  });

  test("skein run shows each tool call as one line, with a result", async () => {
    const steps = [{ text: "Adding.", tools: [{ name: "add", input: { a: 2, b: 3 } }] }, { text: "It is $LAST." }];
    const { code, out, err } = await skein(dataFolder(), "run", script(steps), "--agent", agentFile);
    expect({ code, out }).toEqual({ code: 0, out: "Adding.\nIt is 5.\n" });
    expect(err).toMatch(/^→ add\(a: 2, b: 3\)$/m);
    expect(err).toMatch(/^✓ add: 5 \(\d+ ms\)$/m);
  });

  test("skein run prints no control characters of a model or a tool", async () => {
    const text = "a\u001B]52;c;ZXZpbA==\u0007b\u009B31mc\u202Ed";
    const steps = [{ text, chunk: 1, tools: [{ name: "say", input: { text } }] }, { text: "\u001B]0;no end" }];
    const folder = dataFolder();
    const { out, err } = await skein(folder, "run", script(steps), "--agent", agentFile);
    // oxlint-disable-next-line no-control-regex
    expect(out + err).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f\u202e]/);
    expect(out).toContain("a\\x1b]52;c;ZXZpbA==\\x07b\\x9b31mc\\u202ed");
    const json = await skein(folder, "run", script(steps), "--agent", agentFile, "--json");
    // oxlint-disable-next-line no-control-regex
    expect(json.out).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f\u202e]/);
  });

  test("--json prints one event on each line", async () => {
    const { code, out } = await skein(dataFolder(), "run", script([{ text: "Hi." }]), "--json");
    expect(code).toBe(0);
    const types = lines(out).map(({ event_type }) => event_type);
    expect(types).toContain("step.generating");
    expect([types[0], types.at(-1)]).toEqual(["session.created", "session.completed"]);
  });

  test("--skills lets the model load the skills of a folder", async () => {
    const skills = fileURLToPath(new URL("../../../examples/skills", import.meta.url));
    const prompt = script([{ tools: [{ name: "load_skill", input: { name: "release-notes" } }] }, { text: "$LAST" }]);
    const { code, out } = await skein(dataFolder(), "run", prompt, "--skills", skills);
    expect([code, out]).toEqual([0, expect.stringContaining("1. Group the changes")]);
    const missing = await skein(dataFolder(), "run", "Hi", "--skills", "none");
    expect([missing.code, missing.err]).toEqual([2, expect.stringContaining("skills: There is no folder none.")]);
  });

  test("--attach sends images, PDFs and texts to the model with the prompt", async () => {
    const simulator = await createSimulator();
    onTestFinished(() => simulator.close());
    const folder = dataFolder();
    const at = (name: string, data: string | Buffer) => (writeFileSync(join(folder, name), data), join(folder, name));
    const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const files = [at("a.png", Buffer.from(PIXEL, "base64")), at("b.pdf", "%PDF-1.4"), at("c.csv", "x,y")];
    const env = { ...environmentOf(folder), ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: simulator.url };
    const run = (attach: string) => call(["run", script([{ text: "Seen." }], "attach"), "--attach", attach], { env });
    expect(await run(files.join(","))).toMatchObject({ code: 0, out: "Seen.\n" });
    const [asked] = simulator.ledger.calls({ label: "attach" });
    expect(asked?.request).toMatchObject({
      messages: [
        {
          content: [
            { type: "image", source: { media_type: "image/png", data: PIXEL } },
            { type: "document", title: "b.pdf", source: { media_type: "application/pdf" } },
            { type: "document", title: "c.csv", source: { type: "text", data: "x,y" } },
            { type: "text" },
          ],
        },
      ],
    });
    expect(await run(join(folder, "none.png"))).toMatchObject({
      code: 2,
      err: expect.stringContaining("There is no "),
    });
    const bytes = at("d.bin", Buffer.from([0, 255, 1]));
    expect(await run(bytes)).toMatchObject({ code: 2, err: expect.stringContaining("neither an image") });
  });

  test("--output-schema prints an answer that fits the schema, and nothing if no answer fits", async () => {
    const folder = dataFolder();
    const file = join(folder, "total.json");
    writeFileSync(
      file,
      JSON.stringify({ type: "object", properties: { total: { type: "number" } }, required: ["total"] }),
    );
    const typed = (...texts: readonly string[]) =>
      skein(folder, "run", script(texts.map((text) => ({ text }))), "--output-schema", file);
    expect(await typed("It is 5.", 'The total: {"total": 5}')).toMatchObject({ code: 0, out: '{"total":5}\n' });
    const failed = await typed("None.");
    expect({ code: failed.code, out: failed.out }).toEqual({ code: 1, out: "" });
    expect(failed.err).toContain("The answer is not JSON.");
    writeFileSync(file, "[");
    expect(await typed("Never.")).toMatchObject({ code: 2, err: expect.stringContaining("cannot be read as JSON") });
    writeFileSync(file, '{"type":"string"}');
    expect(await typed("Never.")).toMatchObject({ code: 2, err: expect.stringContaining("root is an object") });
  });

  test("skein run reads the prompt from stdin with -", async () => {
    const { child, ended } = start(dataFolder(), ["run", "-"]);
    child.stdin?.end(`How much is 20+22?`);
    expect(await ended).toMatchObject({ code: 0, out: expect.stringContaining("42") });
  });

  test("--session continues a session in another process", async () => {
    const folder = dataFolder();
    const first = await skein(folder, "run", script([{ text: "First." }]));
    const session = /session ([0-9a-f-]{36})/.exec(first.err)?.[1] ?? "";
    const second = await skeinProcess(folder, "run", script([{ text: "Second." }]), "--session", session);
    expect(second).toMatchObject({ code: 0, out: "Second.\n" });
    // The session has nothing to continue, so the command shows its last answer.
    const again = await skein(folder, "run", "--session", session);
    expect(again).toMatchObject({
      code: 0,
      out: "Second.\n",
      err: expect.stringMatching(/^(?!.*so answers).*Completed/s),
    });
    const shown = await skein(folder, "sessions", "show", session, "--json");
    expect(lines(shown.out)[0]).toMatchObject({ total_runs: 2 });
  });

  test("a run that waits prints what it waits for and how to answer, and continues after the answer", async () => {
    const folder = dataFolder();
    const call = { name: "deploy", input: { to: "production" }, id: "toolu_deploy" };
    const steps = [{ tools: [call] }, { text: "Result: $LAST" }];
    const paused = await skein(folder, "run", script(steps), "--agent", agentFile);
    expect(paused.code).toBe(5);
    expect(paused.err).toContain("Waits for your approval of deploy(to: production)");
    const [, ...answer] = /^ {2}(skein sessions answer \S+ toolu_deploy yes)$/m.exec(paused.err)?.[1]?.split(" ") ?? [];
    expect(await skein(folder, ...answer)).toMatchObject({ code: 0, err: "accepted: The answer was accepted.\n" });
    expect(await skein(folder, ...answer)).toMatchObject({ code: 0, err: expect.stringMatching(/^duplicate: /) });
    const [, ...goOn] = /^Then continue the session: (.+)$/m.exec(paused.err)?.[1]?.split(" ") ?? [];
    expect(await skein(folder, ...goOn)).toMatchObject({ code: 0, out: "Result: deployed to production\n" });
  });

  test("a session of another agent is not continued", async () => {
    const folder = dataFolder();
    const steps = [{ tools: [{ name: "deploy", input: { to: "x" }, id: "toolu_1" }] }];
    const paused = await skein(folder, "run", script(steps), "--agent", agentFile);
    const session = /session ([0-9a-f-]{36})/.exec(paused.err)?.[1] ?? "";
    const other = await skein(folder, "run", "--session", session);
    expect(other.code).toBe(2);
    expect(other.err).toContain('belongs to the agent "Tester"');
    const prompted = await skein(folder, "run", "Hello?", "--session", session);
    expect(prompted).toMatchObject({ code: 2, err: expect.stringContaining('belongs to the agent "Tester"') });
  });

  test("Ctrl-C cancels the run, and the session can continue", async () => {
    const folder = dataFolder();
    const started = start(folder, ["run", script([{ text: "Long story.", chunk: 4, hang: { afterChunks: 1 } }])]);
    await started.says("Long");
    started.child.kill("SIGINT");
    const { code, err } = await started.ended;
    expect(code).toBe(130);
    expect(err).toContain("Cancelled");
    const session = /session ([0-9a-f-]{36})/.exec(err)?.[1] ?? "";
    expect(await skein(folder, "run", script([{ text: "Here." }]), "--session", session)).toMatchObject({ code: 0 });
  });

  test("a closed output ends the run, so that it causes no further cost", async () => {
    const folder = dataFolder();
    const text = `One line.\n${"And more. ".repeat(300)}`;
    const started = start(folder, ["run", script([{ text, chunk: 10, chunkDelayMs: 100 }])]);
    await started.says("One line.");
    started.child.stdout?.destroy();
    expect((await started.ended).code).toBe(0);
    const [session] = lines((await skein(folder, "sessions", "list", "--json")).out);
    expect(session).toMatchObject({ status: "idle", outcome: "cancelled" });
  });

  test("a second Ctrl-C ends the process immediately", async () => {
    const started = start(dataFolder(), ["run", script([{ tools: [{ name: "stubborn" }] }]), "--agent", agentFile]);
    await started.says("→ stubborn");
    started.child.kill("SIGINT");
    await started.says("Cancelling.");
    started.child.kill("SIGINT");
    expect((await started.ended).code).toBe(130);
  });

  test("after SIGTERM the run is unfinished, and another process continues it", async () => {
    const folder = dataFolder();
    const simulator = await createSimulator();
    onTestFinished(() => simulator.close());
    const env = { ANTHROPIC_API_KEY: "any", ANTHROPIC_BASE_URL: simulator.url };
    const started = start(folder, ["run", script([{ text: "Long story.", hang: { times: 1 } }]), "--json"], env);
    const text = await started.says("step.started");
    started.child.kill("SIGTERM");
    const session = /"session_id":"([0-9a-f-]{36})"/.exec(text)?.[1] ?? "";
    const ended = await started.ended;
    expect(ended).toMatchObject({ code: 143, err: expect.stringContaining(`skein run --session ${session}`) });
    const next = start(folder, ["run", "--session", session], env);
    expect(await next.ended).toMatchObject({ code: 0, out: "Long story.\n" });
  });

  test("a failed run prints the reason and ends with exit code 1", async () => {
    const prompt = script([{ error: { status: 400, message: "prompt is not to my taste" } }]);
    const { code, err } = await skein(dataFolder(), "run", prompt);
    expect(code).toBe(1);
    expect(err).toContain("Failed: prompt is not to my taste");
  });

  test("--max-cost stops a run that costs more", async () => {
    const { code, err } = await skein(dataFolder(), "run", "2+2", "--max-cost", "0.000001");
    expect(code).toBe(1);
    expect(err).toMatch(/Failed: .*budget/);
  });

  test("--model and --system set the session's model and system prompt", async () => {
    const folder = dataFolder();
    const first = await skein(folder, "run", "2+2", "--model", "claude-haiku-5-5", "--system", "Be brief.", "--json");
    expect(lines(first.out)[0]).toMatchObject({
      data: { agent: { model: "claude-haiku-5-5", system_prompt: "Be brief." } },
    });
  });

  test("skein run prints no colours without a terminal", async () => {
    const { out, err } = await skein(dataFolder(), "run", "2+2");
    expect(out + err).not.toContain("\u001B");
  });

  test("the API key is neither printed nor stored", async () => {
    const folder = dataFolder();
    const simulator = await createSimulator();
    const env = { ANTHROPIC_API_KEY: "sk-ant-canary-0123456789", ANTHROPIC_BASE_URL: simulator.url };
    const prompts = [[{ text: "Fine." }], [{ error: { status: 401, message: "bad key" } }]];
    for (const steps of prompts) {
      const { child, ended } = start(folder, ["run", script(steps), "--json"], env);
      child.stdin?.end();
      const { out, err } = await ended;
      expect(out + err).not.toContain("canary");
      expect(err).not.toContain("simulation");
    }
    await simulator.close();
    for (const file of readdirSync(join(folder, "data")))
      expect(readFileSync(join(folder, "data", file), "latin1")).not.toContain("canary");
  });

  test.each(["json", "xml", "raw"])("--format %s prints the stream in that format", async (format) => {
    const { code, out } = await skein(dataFolder(), "run", script([{ text: "Hi there." }]), "--format", format);
    expect(code).toBe(0);
    const sign = { json: "[DONE]", xml: "<content-block-text>", raw: "message_stop" }[format] ?? "";
    expect(out).toContain(sign);
    expect(out).toMatch(/\n$/);
    // In the formats json and raw, each line is a JSON object or [DONE].
    if (format !== "xml")
      for (const line of out.trim().split("\n")) if (line !== "[DONE]") expect(JSON.parse(line)).toHaveProperty("type");
    const failed = await skein(dataFolder(), "run", script([{ error: { status: 400 } }]), "--format", format);
    expect(failed.code).toBe(1);
  });

  test("with the simulator's example prompt, the run asks a question and continues with the answer", async () => {
    const folder = dataFolder();
    const proposed = /such as "([^"]+)"/.exec((await skein(folder, "run", "Hello.")).out)?.[1] ?? "";
    const asked = await skein(folder, "run", proposed);
    expect(asked.code).toBe(5);
    expect(asked.err).toMatch(/^Waits for your answer: use the AskUserQuestion tool \(simulated label, /m);
    const [, session = "", call = ""] = /skein sessions answer (\S+) (\S+)/.exec(asked.err) ?? [];
    expect((await skein(folder, "sessions", "answer", session, call, "Blue, please.")).code).toBe(0);
    const done = await skein(folder, "run", "--session", session);
    expect({ code: done.code, answer: done.out }).toEqual({
      code: 0,
      answer: expect.stringContaining("Blue, please."),
    });
  });

  test("with --format, a run that waits for an answer prints the command that gives the answer", async () => {
    const folder = dataFolder();
    const questions = [{ question: "Which?", header: "Pick", options: [{ label: "a" }, { label: "b" }] }];
    const prompt = script([{ tools: [{ name: "AskUserQuestion", input: { questions } }] }, { text: "Thanks." }]);
    const { code, out, err } = await skein(folder, "run", prompt, "--format", "json");
    expect(code).toBe(5);
    expect(out).toContain('"type":"awaiting_frontend_tools"');
    expect(err).toMatch(/skein sessions answer \S+ toolu_/);
  });

  test("--tools gives the agent tools that work in a folder", async () => {
    const folder = dataFolder();
    const input = { file_path: join(folder, "note.txt"), content: "written" };
    const { code } = await skein(
      folder,
      "run",
      script([{ tools: [{ name: "Write", input }] }, { text: "Done." }]),
      "--tools",
      folder,
    );
    expect(code).toBe(0);
    expect(readFileSync(join(folder, "note.txt"), "utf8")).toBe("written");
  });

  test("skein run works on the filesystem store", async () => {
    const folder = dataFolder();
    const store = `file:${join(folder, "files")}`;
    const first = await skein(folder, "run", script([{ text: "First." }]), "--store", store);
    expect(first).toMatchObject({ code: 0, out: "First.\n" });
    expect(lines((await skein(folder, "sessions", "list", "--json", "--store", store)).out)).toHaveLength(1);
  });

  test("the store and its folder are accessible only by their owner", async () => {
    const folder = dataFolder();
    await skein(folder, "run", "2+2");
    expect(statSync(join(folder, "data")).mode & 0o77).toBe(0);
    for (const file of readdirSync(join(folder, "data")))
      expect(statSync(join(folder, "data", file)).mode & 0o77).toBe(0);
  });
});

test.each([
  ["no prompt", ["run"], 2, /There is no prompt/],
  ["an empty prompt", ["run", ""], 2, /^There is no prompt/],
  ["two prompts", ["run", "a", "b"], 2, /quotes/],
  ["an unknown option", ["run", "a", "--modle", "x"], 2, /--modle/],
  ["an invalid cost", ["run", "a", "--max-cost", "much"], 2, /--max-cost/],
  ["an unknown session", ["run", "a", "--session", "01890000-0000-7000-8000-0000000000ff"], 3, /no session/],
  ["an unknown format", ["run", "a", "--format", "yaml"], 2, /--format/],
  ["an invalid store address", ["run", "a", "--store", "mysql://x"], 2, /is not a store/],
  ["a missing agent file", ["run", "a", "--agent", "nowhere.ts"], 2, /nowhere\.ts/],
])("%s is rejected with an error message and an exit code", async (_, args, expected, sentence) => {
  const { code, out, err } = await skein(dataFolder(), ...args);
  expect({ code, out }).toEqual({ code: expected, out: "" });
  expect(err).toMatch(sentence);
  expect(err).not.toMatch(/^\s+at /m);
});

test("the error for an agent file without an agent says what was expected", async () => {
  const folder = dataFolder();
  const file = join(folder, "empty.ts");
  writeFileSync(file, "export const nothing = 1;\n");
  expect(await skein(folder, "run", "a", "--agent", file)).toMatchObject({
    code: 2,
    err: expect.stringContaining("exports no agent"),
  });
});

test("if an agent file imports a file with a syntax error, the error names the imported file and the line", async () => {
  const folder = dataFolder();
  const file = join(folder, "agent.ts");
  writeFileSync(file, 'import "./tools.ts";\nexport default {};\n');
  writeFileSync(join(folder, "tools.ts"), "const tools = [\n  ,,},\n];\n");
  const { code, err } = await skein(folder, "run", "a", "--agent", file);
  expect([code, err]).toEqual([2, expect.stringContaining(`${file} could not be loaded: `)]);
  expect(err).toContain(`(${join(folder, "tools.ts")}:2)`);
});

test("an agent file that is not a program is rejected with an error message", async () => {
  const folder = dataFolder();
  const file = join(folder, "agent.json");
  writeFileSync(file, "{}");
  expect(await skein(folder, "run", "a", "--agent", file)).toMatchObject({
    code: 2,
    err: `${file} is not a program. Expected a file of TypeScript or JavaScript.\n`,
  });
});

test("if an agent file throws an error, the output shows its line", async () => {
  const folder = dataFolder();
  const file = join(folder, "failing.ts");
  writeFileSync(file, 'const place = "here";\n\nthrow new Error(`Nothing is ${place}.`);\n');
  expect(await skein(folder, "run", "a", "--agent", file)).toMatchObject({
    code: 2,
    err: expect.stringContaining(`${file}:3 could not be loaded: Nothing is here.`),
  });
});
