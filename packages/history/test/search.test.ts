import { describe, expect, test } from "vitest";
import {
  buildIndex,
  isQueryError,
  isSessionNotFoundError,
  searchInSession,
  searchSessions,
  type SearchOptions,
} from "../src/index.ts";
import { requiredLiteral } from "../src/search/required-literal.ts";
import { writeCorpus } from "../src/sources/claude-code/testing/corpus.ts";
import { conversation, createDataDirectory, jsonLines, sessionId, type DataDirectory } from "./data-directory.ts";

function library(): DataDirectory {
  const data = createDataDirectory();
  const talk = conversation("2026-11-01T10:00:00.000Z");
  data.session(sessionId(1), [
    talk.user('Please fix the Parser.\nIt fails on café and "quotes" and C:\\temp.'),
    talk.answer([{ type: "thinking", thinking: "the parser is hard" }]),
    talk.answer([{ type: "text", text: "line one\nline two with parserState\nline three\nline four" }]),
    talk.answer([{ type: "tool_use", id: "t1", name: "Bash", input: { command: "grep -r parser ." } }]),
    talk.user([{ type: "tool_result", tool_use_id: "t1", content: "src/parser.ts:1: parser" }], {
      toolUseResult: { stdout: "src/parser.ts" },
    }),
    { type: "ai-title", aiTitle: "Parser title" },
  ]);
  const other = conversation("2026-11-05T10:00:00.000Z", { cwd: "/work/other" });
  data.session(sessionId(2), [other.user("nothing here"), other.answer("the lexer, not the parser")], "-work-other");
  const side = conversation("2026-11-01T10:30:00.000Z", { isSidechain: true, sessionId: sessionId(1) });
  data.write(`projects/-work-app/${sessionId(1)}/subagents/agent-a1.jsonl`, jsonLines([side.user("subparser task")]));
  return data;
}

const found = async (data: DataDirectory, query: string, options: SearchOptions = {}): Promise<readonly string[]> => {
  const { data: matches } = await searchSessions(query, { ...data.config, ...options });
  return matches.map(({ kind, match }) => `${kind}:${match}`);
};

describe("queries", () => {
  test("words are found in any case and inside other words, and prompts come first", async () => {
    expect(await found(library(), "parser")).toEqual([
      "prompt:Parser",
      "text:parser",
      "text:parser",
      "text:parser",
      "tool_use:parser",
      "thinking:parser",
      "tool_result:parser",
    ]);
  });

  test("a message is found if it contains all words in any order", async () => {
    expect(await found(library(), "quotes please")).toEqual(["prompt:Please", "prompt:quotes"]);
    expect(await found(library(), "lexer please")).toEqual([]);
  });

  test("a phrase is found only with its words in this order, even across line ends", async () => {
    expect(await found(library(), '"fix the parser"')).toEqual(["prompt:fix the Parser"]);
    expect(await found(library(), '"parser. It fails"')).toEqual(["prompt:Parser.\nIt fails"]);
    expect(await found(library(), '"the fix parser"')).toEqual([]);
  });

  test("text with accents and text that is written with JSON escapes are found", async () => {
    expect(await found(library(), "CAFÉ")).toEqual(["prompt:café"]);
    expect(await found(library(), "c:\\temp")).toEqual(["prompt:C:\\temp"]);
    const data = createDataDirectory();
    data.write(
      `projects/-p/${sessionId(1)}.jsonl`,
      '{"type":"user","uuid":"u","message":{"content":"caf\\u00e9 \\u003cb\\u003e"}}\n',
    );
    expect(await found(data, "café")).toEqual(["text:café"].map(() => "prompt:café"));
    expect(await found(data, "<b>")).toEqual(["prompt:<b>"]);
  });

  test("patterns are found, and invalid patterns and phrases without a closing quote are rejected", async () => {
    expect(await found(library(), "/pars(er|ing)state/")).toEqual(["text:parserState"]);
    expect(await found(library(), "/^line t/")).toEqual(["text:line t", "text:line t"]);
    for (const bad of ["/(a)\\1/", "/(?=x)y/", "/[/", `/${"a".repeat(1001)}/`, "/a/g", "/a{1,2000}/", 'a "b c']) {
      await expect(searchSessions(bad, library().config), bad).rejects.toSatisfy(isQueryError);
    }
  });

  test("a pattern with a capital letter is case-sensitive unless it has the flag i", async () => {
    const data = createDataDirectory();
    data.session(sessionId(1), [conversation().user("ENOENT: no such file\nsays the experiment")]);
    expect(await found(data, "/E[A-Z]{4,}/")).toEqual(["prompt:ENOENT"]);
    expect(await found(data, "/E[A-Z]{4,}/i")).toEqual(["prompt:ENOENT", "prompt:experiment"]);
    expect(await found(data, "/e[a-z]{4,}/")).toEqual(["prompt:ENOENT", "prompt:experiment"]);
    expect(await found(data, String.raw`/\Bnoent\S/`)).toEqual(["prompt:NOENT:"]);
  });

  test("a search is fast even with a pattern that takes exponential time in other engines", async () => {
    const data = createDataDirectory();
    data.session(sessionId(1), [conversation().user(`${"a".repeat(50_000)}!`)]);
    const started = process.cpuUsage();
    expect(await found(data, "/^(a+)+$/")).toEqual([]);
    expect(process.cpuUsage(started).user).toBeLessThan(2_000_000);
  });

  test.each([
    ["parser", "parser"],
    ["pars(er)?\\.ts", "pars"],
    ["foo.*barbaz", "barbaz"],
    ["colou?r", "colo"],
    ["one|two", undefined],
    ["[abc]+x", undefined],
    ["\\bword\\b", "word"],
    ["(inside)", undefined],
  ])("requiredLiteral finds the text that all matches contain: for the pattern %s it is %s", (pattern, literal) => {
    expect(requiredLiteral(pattern)).toBe(literal);
  });

  test("a search ignores the system prompt and the tools that Claude Code records", async () => {
    const data = createDataDirectory();
    const attachment = (type: string, more: object) =>
      JSON.stringify({ type: "attachment", uuid: type, attachment: { type, ...more } });
    data.write(
      `projects/-p/${sessionId(1)}.jsonl`,
      [
        attachment("prompt_snapshot", { systemPrompt: ["Run the needle tests."], tools: [{ name: "needle" }] }),
        attachment("deferred_tools_record", { tools: ["needle"] }),
        attachment("edited_text_file", { snippet: "a needle" }),
        "",
      ].join("\n"),
    );
    expect(await found(data, "needle")).toEqual(["other:needle"]);
  });

  test("an empty query finds nothing", async () => {
    expect((await searchSessions("  ", library().config)).pagination.total).toBe(0);
  });
});

describe("any writing system", () => {
  const texts = [
    "日本語のテスト",
    "検索",
    "검색어",
    "Проверка ПОИСКА",
    "Αναζήτηση ΣΕΛΊΔΑΣ",
    "Élan VITAL, naïve café",
    "بحث سريع",
    "חיפוש",
    "ค้นหา",
    "खोज",
    "Straße",
    "İstanbul ısı",
    "🦊 fox",
  ];

  /** Two ways to write a line. Some programs write UTF-8, and some write \u escapes for all characters beyond ASCII. */
  const spellings: readonly [string, (line: string) => string][] = [
    ["UTF-8", (line) => line],
    [
      "escapes",
      (line) => line.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
    ],
  ];

  test.each(spellings)(
    "words of any writing system are found in any case in lines with %s, with and without an index",
    async (_, spell) => {
      const data = createDataDirectory();
      const talk = conversation();
      const lines = texts.map((text) => spell(JSON.stringify(talk.user(`before ${text} after`))));
      data.write(`projects/-work-app/${sessionId(1)}.jsonl`, `${lines.join("\n")}\n`);
      const words = texts.flatMap((text, at) =>
        text
          .split(/[ ,]+/)
          .flatMap((word) =>
            [word, word.toLowerCase(), word.toUpperCase()]
              .filter(({ length }) => length === word.length)
              .map((each) => [each, at] as const),
          ),
      );
      for (const config of [data.config, data.indexed]) {
        for (const [word, at] of [
          ...words,
          ["本", 0],
          ["검", 2],
          ["ПРОВ", 3],
          ["/検.$/", -1],
          ["/日本.のテ/", 0],
        ] as const) {
          // A word is found if the lower case of the text contains the lower case of the word. So ISI, the upper case
          // of ısı, does not find ısı.
          const isFound =
            at >= 0 && `before ${texts[at]} after`.toLowerCase().includes(word.toLowerCase().replaceAll("/", ""));
          const isPattern = word.startsWith("/") && at >= 0;
          const { data: found } = await searchSessions(word, config);
          expect([word, found.map(({ fileLine }) => fileLine)]).toEqual([word, isFound || isPattern ? [at + 1] : []]);
        }
        await buildIndex(data.indexed);
      }
    },
  );
});

test("a line that is not JSON is found by its text, with and without an index", async () => {
  const data = createDataDirectory();
  const path = `projects/-work-app/${sessionId(1)}.jsonl`;
  data.write(path, `${jsonLines([conversation().user("hello")])}{"type":"user","message":"torn porcupine\n`);
  data.append(path, `{"cut":"marmalade{"type":"user","uuid":"g","message":{"content":"glued walrus"}}\n`);
  for (const config of [data.config, data.indexed]) {
    const { data: found } = await searchSessions("porcupine", config);
    expect(found).toMatchObject([{ messageType: "damaged", fileLine: 2, match: "porcupine", kind: "other" }]);
    expect((await searchSessions("marmalade", config)).data).toMatchObject([{ messageType: "damaged", fileLine: 3 }]);
    expect((await searchSessions("walrus", config)).data).toMatchObject([{ messageType: "user", fileLine: 3 }]);
    await buildIndex(data.indexed);
  }
});

describe("filters and pages", () => {
  test("a search is filtered by role, tool, project, date and subagents", async () => {
    const data = library();
    expect(await found(data, "parser", { role: "human" })).toEqual(["prompt:Parser"]);
    expect((await found(data, "parser", { role: "assistant" })).length).toBe(4);
    expect(await found(data, "parser", { tool: "bash" })).toEqual(["tool_use:parser"]);
    expect(await found(data, "parser", { workspace: "/work/other" })).toEqual(["text:parser"]);
    expect(await found(data, "parser", { since: new Date("2026-11-02T00:00:00.000Z") })).toEqual(["text:parser"]);
    expect((await found(data, "parser", { includeAgents: false })).length).toBe(6);
  });

  test("a match has its position and the lines around it", async () => {
    const { data: matches, pagination } = await searchSessions("parserstate", { ...library().config, context: 1 });
    expect(pagination).toEqual({ total: 1, limit: 50, offset: 0, hasMore: false });
    expect(matches[0]).toMatchObject({
      sessionId: sessionId(1),
      messageType: "assistant",
      match: "parserState",
      context: ["line one", "line two with parserState", "line three"],
      lineNumber: 2,
      fileLine: 3,
      sessionSummary: "Parser title",
      projectPath: "/work/app",
    });
  });

  test("the pages of a search are consecutive parts of one order", async () => {
    const data = library();
    const all = (await searchSessions("parser", data.config)).data;
    const page = await searchSessions("parser", { ...data.config, limit: 2, offset: 3 });
    expect(page.data).toEqual(all.slice(3, 5));
    expect(page.pagination).toEqual({ total: 7, limit: 2, offset: 3, hasMore: true });
  });

  test("a search in one session returns all matches in the order of the file", async () => {
    const data = library();
    const matches = await searchInSession(sessionId(1), "parser", data.config);
    expect(matches.map(({ fileLine }) => fileLine)).toEqual([1, 2, 3, 4, 5, 1]);
    expect(matches.at(-1)?.agentId).toBe("a1");
    await expect(searchInSession("nope", "x", data.config)).rejects.toSatisfy(isSessionNotFoundError);
  });
});

test("a search with an index finds all matches, even in lines that are not in the index yet", async () => {
  const data = createDataDirectory();
  const { sessions } = writeCorpus({ folder: data.root, files: 20, bytes: 8_000_000, seed: 9 });
  await buildIndex(data.indexed);
  const queries = [
    "kaleidoscope",
    "worktree",
    '"the file"',
    "/walrus|vortex/",
    "xy",
    "nothing-like-this",
    "parser albatross",
  ];
  for (const query of queries) {
    expect(await searchSessions(query, data.indexed), query).toEqual(await searchSessions(query, data.config));
  }
  const { data: hits } = await searchSessions("the", { ...data.config, limit: 1 });
  expect(hits.length).toBe(1);
  const path = hits[0]?.path.slice(data.root.length + 1) ?? "";
  data.append(path, jsonLines([conversation("2026-12-01T10:00:00.000Z").user("a brontosaurus appears")]));
  expect((await searchSessions("brontosaurus", data.indexed)).pagination.total).toBe(1);
  data.write(path, jsonLines([conversation("2026-12-01T10:00:00.000Z").user("rewritten with a stegosaurus")]));
  expect((await searchSessions("stegosaurus", data.indexed)).pagination.total).toBe(1);
  expect((await searchSessions("brontosaurus", data.indexed)).pagination.total).toBe(0);
  expect(sessions.length).toBeGreaterThan(10);
});

test("an empty file has no matches, even if another file was read before", async () => {
  const data = createDataDirectory();
  const talk = conversation("2026-11-01T10:00:00.000Z");
  data.session(sessionId(1), [talk.user("find the needle")]);
  for (const number of [2, 3]) data.write(`projects/-work-app/${sessionId(number)}.jsonl`, "");
  expect((await searchSessions("needle", data.config)).data).toHaveLength(1);
});

test("a page of a search for a frequent word is the same part of all its matches, with and without an index", async () => {
  const data = createDataDirectory();
  writeCorpus({ folder: data.root, files: 40, bytes: 12_000_000, seed: 12 });
  await buildIndex(data.indexed);
  const searches: readonly (readonly [string, SearchOptions])[] = [
    ["error", {}],
    ["the value", {}],
    ["error", { limit: 7, offset: 300 }],
    ["in", { role: "assistant" }],
  ];
  for (const [query, options] of searches) {
    const everything = await searchSessions(query, { ...data.config, ...options, offset: 0, limit: Infinity });
    expect(everything.pagination.total).toBeGreaterThan(2000);
    expect(everything.pagination.totalIsAtLeast).toBeUndefined();
    const { offset = 0, limit = 50 } = options;
    for (const config of [data.config, data.indexed]) {
      const page = await searchSessions(query, { ...config, ...options });
      expect(page.data).toEqual(everything.data.slice(offset, offset + limit));
      expect(page.pagination.totalIsAtLeast).toBe(true);
      expect(page.pagination.total).toBeLessThanOrEqual(everything.pagination.total);
    }
  }
});
