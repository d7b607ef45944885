import { execFileSync } from "node:child_process";
import { randomInt } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type StandardToolsOptions, createAskUserQuestion, createStandardTools } from "@skein/adapters/tools";
import { openSandbox } from "@skein/adapters/sandboxes/bubblewrap";
import type { Sandbox, Tool } from "@skein/core";
import { describe, expect, onTestFinished, test } from "vitest";
import { hasBubblewrap } from "../../sql/test/bubblewrap.ts";

interface World {
  readonly folder: string;
  readonly outside: string;
  readonly call: (name: string, input: unknown, signal?: AbortSignal) => Promise<unknown>;
  readonly tool: (name: string) => Tool;
}

/** A folder with files. The folder beside it has a secret, and a name with the same beginning. */
function toolsWorld(options: Omit<StandardToolsOptions, "folder"> = {}): World {
  const parent = mkdtempSync(join(tmpdir(), "skein-tools-"));
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
  const folder = join(parent, "mem");
  const outside = join(parent, "mem-evil");
  mkdirSync(join(folder, "src/deep"), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(outside, "secret.txt"), "SECRET");
  writeFileSync(join(folder, "a.txt"), "one\ntwo\nthree\n");
  writeFileSync(join(folder, "src/b.ts"), "export const two = 2;\nconst x = `one`;\n");
  writeFileSync(join(folder, "src/deep/c.ts"), "// Two\n");
  const tools = new Map(createStandardTools({ folder, ...options }).map((tool) => [tool.name, tool]));
  const tool = (name: string): Tool => tools.get(name) as Tool;
  const call: World["call"] = async (name, input, signal = new AbortController().signal) => {
    const context = {
      sessionId: "s",
      runId: "r",
      toolUseId: "t",
      idempotencyKey: "s/t",
      workingDirectory: null,
      signal,
    };
    return tool(name).run(tool(name).parse(input), context);
  };
  return { folder, outside, call, tool };
}

test("only tools without effects may run again after a crash", () => {
  const { tool } = toolsWorld();
  const policies = ["Bash", "Read", "Write", "Edit", "Glob", "Grep", "WebFetch", "TodoWrite"].map(
    (name) => `${name} ${tool(name).policy}`,
  );
  expect(policies).toEqual([
    "Bash once",
    "Read repeatable",
    "Write once",
    "Edit once",
    "Glob repeatable",
    "Grep repeatable",
    "WebFetch once",
    "TodoWrite repeatable",
  ]);
});

const KINDS = [
  ["the file tools in this process", "off"],
  ["the file tools in a sandbox", "required"],
] as const;

describe.each(KINDS)("%s", (_, sandbox) => {
  const world = (): World => toolsWorld({ sandbox });
  const inSandbox = sandbox === "required";
  const usable = describe.skipIf(inSandbox && !hasBubblewrap);

  usable("no path leaves the folder", () => {
    const PATHS: readonly (readonly [string, (world: World) => string])[] = [
      ["by ..", () => "../mem-evil/secret.txt"],
      ["by .. inside", () => "src/../../mem-evil/secret.txt"],
      ["by an absolute path", () => "/etc/passwd"],
      ["by a sibling with the same beginning", ({ outside }) => join(outside, "secret.txt")],
      ["by NUL", () => "a.txt\0/../../x"],
      [
        "by a link to a file",
        ({ folder, outside }) => {
          symlinkSync(join(outside, "secret.txt"), join(folder, "link.txt"));
          return "link.txt";
        },
      ],
      [
        "by a link to a folder",
        ({ folder, outside }) => {
          symlinkSync(outside, join(folder, "linked"));
          return "linked/secret.txt";
        },
      ],
      [
        "by a chain of links",
        ({ folder, outside }) => {
          symlinkSync(outside, join(folder, "l1"));
          symlinkSync(join(folder, "l1"), join(folder, "l2"));
          return "l2/secret.txt";
        },
      ],
    ];

    test.each(PATHS)("%s", async (_, make) => {
      const here = world();
      const path = make(here);
      const inputs: readonly (readonly [string, object])[] = [
        ["Read", { file_path: path }],
        ["Write", { file_path: path, content: "OVERWRITTEN" }],
        ["Edit", { file_path: path, old_string: "SECRET", new_string: "x" }],
        ["Grep", { pattern: "SECRET", path }],
        ["Glob", { pattern: "**", path }],
      ];
      for (const [name, input] of inputs)
        await expect(here.call(name, input), name).rejects.toThrow(/outside|NUL|folder/);
      expect(readFileSync(join(here.outside, "secret.txt"), "utf8")).toBe("SECRET");
      expect(readdirSync(here.outside)).toEqual(["secret.txt"]);
    });

    test("Write cannot create a file outside of the folder through a link to another folder", async () => {
      const { folder, outside, call } = world();
      symlinkSync(outside, join(folder, "linked"));
      for (const file_path of ["linked/new.txt", "linked/deep/new.txt"])
        await expect(call("Write", { file_path, content: "x" })).rejects.toThrow(/outside/);
      expect(readdirSync(outside)).toEqual(["secret.txt"]);
    });

    test("Read and Write do not leave the folder through a link that is replaced during the check", async () => {
      const { folder, outside, call } = world();
      const path = join(folder, "swap");
      const child = execFileSync("/bin/bash", [
        "-c",
        `cd ${folder}; (for i in $(seq 4000); do ln -sfn a.txt swap; ln -sfn ${join(outside, "secret.txt")} swap; done) >/dev/null 2>&1 & echo $!`,
      ]);
      const pid = Number(child.toString());
      let leaks = 0;
      let reads = 0;
      // A call in a sandbox starts a program, so 1500 calls would take too long.
      for (let n = 0; n < (inSandbox ? 20 : 1500); n++) {
        const text = await call("Read", { file_path: "swap" }).catch(() => "");
        reads += text === "" ? 0 : 1;
        if (String(text).includes("SECRET")) leaks += 1;
        await call("Write", { file_path: "swap", content: "one\n" }).catch(() => undefined);
      }
      try {
        process.kill(pid);
      } catch {
        // The process had ended already.
      }
      rmSync(path, { force: true });
      expect(leaks).toBe(0);
      expect(reads).toBeGreaterThan(0);
      expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("SECRET");
    });

    test("a link that stays inside the folder works", async () => {
      const { folder, call } = world();
      symlinkSync("a.txt", join(folder, "alias.txt"));
      expect(await call("Read", { file_path: "alias.txt" })).toContain("one");
      await call("Write", { file_path: "alias.txt", content: "new" });
      expect(readFileSync(join(folder, "a.txt"), "utf8")).toBe("new");
    });

    test("Glob and Grep do not follow links, and Glob, Grep and Read do not wait for a pipe", async () => {
      const { folder, outside, call } = world();
      symlinkSync(outside, join(folder, "linked"));
      execFileSync("mkfifo", [join(folder, "pipe")]);
      expect(await call("Glob", { pattern: "**" })).not.toMatch(/secret|linked|pipe/);
      expect(await call("Grep", { pattern: "SECRET" })).toBe("Nothing is found.");
      await expect(call("Read", { file_path: "pipe" })).rejects.toThrow(/not a regular file/);
      await expect(call("Read", { file_path: "src" })).rejects.toThrow(/is a folder/);
    });
  });

  usable("Read", () => {
    test("Read shows numbered lines from an offset up to a limit", async () => {
      const { call, folder } = world();
      expect(await call("Read", { file_path: "a.txt" })).toBe("     1\tone\n     2\ttwo\n     3\tthree");
      expect(await call("Read", { file_path: join(folder, "a.txt"), offset: 2, limit: 1 })).toBe(
        "     2\ttwo\n[There are more lines: read on with offset 3.]",
      );
    });

    test("Read says why it shows nothing: the file is empty, is not text, has no such line, or does not exist", async () => {
      const { call, folder } = world();
      writeFileSync(join(folder, "empty"), "");
      writeFileSync(join(folder, "binary"), new Uint8Array([1, 0, 2]));
      expect(await call("Read", { file_path: "empty" })).toBe("[The file is empty.]");
      await expect(call("Read", { file_path: "binary" })).rejects.toThrow("binary is not text.");
      await expect(call("Read", { file_path: "a.txt", offset: 9 })).rejects.toThrow("a.txt has 3 lines");
      await expect(call("Read", { file_path: "nope" })).rejects.toThrow("There is no file nope.");
    });

    test("Read cuts very long lines, and rejects a very large file that is not text", async () => {
      const { call, folder } = world();
      writeFileSync(join(folder, "long"), `${"x".repeat(1e6)}\nend`);
      expect(String(await call("Read", { file_path: "long" })).length).toBeLessThan(2200);
      writeFileSync(join(folder, "huge"), "");
      truncateSync(join(folder, "huge"), 5e9);
      await expect(call("Read", { file_path: "huge" })).rejects.toThrow("huge is not text.");
    });

    test("Read shows an image as an image", async () => {
      const { call, folder } = world();
      writeFileSync(join(folder, "p.png"), new Uint8Array([137, 80, 78, 71]));
      expect(await call("Read", { file_path: "p.png" })).toEqual([
        { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw==" } },
      ]);
    });
  });

  usable("Write and Edit", () => {
    test("Write creates folders and keeps the mode of a replaced file", async () => {
      const { call, folder } = world();
      await call("Write", { file_path: "new/deep/f.sh", content: "echo ü\n" });
      expect(readFileSync(join(folder, "new/deep/f.sh"), "utf8")).toBe("echo ü\n");
      execFileSync("chmod", ["755", join(folder, "new/deep/f.sh")]);
      await call("Write", { file_path: "new/deep/f.sh", content: "x" });
      expect(statSync(join(folder, "new/deep/f.sh")).mode & 0o777).toBe(0o755);
      expect(readdirSync(join(folder, "new/deep"))).toEqual(["f.sh"]);
      await expect(call("Write", { file_path: "src", content: "x" })).rejects.toThrow(/not a regular file/);
    });

    test("Edit finds the lines that Read shows of a file with Windows line ends, and keeps the line ends", async () => {
      const { folder, call } = world();
      writeFileSync(join(folder, "w.txt"), "one\r\ntwo\r\nthree\r\n");
      expect(await call("Read", { file_path: "w.txt", limit: 2 })).toContain("1\tone\n     2\ttwo");
      await call("Edit", { file_path: "w.txt", old_string: "one\ntwo", new_string: "1\n2" });
      await call("Edit", { file_path: "w.txt", old_string: "three", new_string: "3\n4" });
      expect(readFileSync(join(folder, "w.txt"), "utf8")).toBe("1\r\n2\r\n3\r\n4\r\n");
      writeFileSync(join(folder, "mixed.txt"), "one\ntwo\nthree\r\n");
      await call("Edit", { file_path: "mixed.txt", old_string: "one\ntwo", new_string: "1\n2" });
      expect(readFileSync(join(folder, "mixed.txt"), "utf8")).toBe("1\n2\nthree\r\n");
    });

    test("the error of Write for a path below a file does not contain the path of the folder", async () => {
      const { call } = world();
      await expect(call("Write", { file_path: "a.txt/b.txt", content: "x" })).rejects.toThrow(
        "There is no a.txt/b.txt: its folder is a file.",
      );
    });

    test("Edit replaces the only match or all matches, and rejects a text that is missing", async () => {
      const { call, folder } = world();
      await call("Edit", { file_path: "a.txt", old_string: "two", new_string: "$& $1 2" });
      expect(readFileSync(join(folder, "a.txt"), "utf8")).toBe("one\n$& $1 2\nthree\n");
      const e = { file_path: "a.txt", old_string: "e", new_string: "E" };
      await expect(call("Edit", e)).rejects.toThrow(/3 times/);
      expect(await call("Edit", { ...e, replace_all: true })).toBe("Replaced 3 places in a.txt.");
      await expect(call("Edit", { ...e, old_string: "nope" })).rejects.toThrow("The old text is not in a.txt.");
      writeFileSync(join(folder, "latin1"), new Uint8Array([0xe9, 0x65]));
      await expect(call("Edit", { ...e, file_path: "latin1" })).rejects.toThrow("latin1 is not text in UTF-8.");
    });
  });

  usable("Glob and Grep", () => {
    test.each([
      ["**/*.ts", ["src/b.ts", "src/deep/c.ts"]],
      ["*.ts", []],
      ["src/*.ts", ["src/b.ts"]],
      ["**/{a,c}.*", ["a.txt", "src/deep/c.ts"]],
      ["src/[ab].ts", ["src/b.ts"]],
      ["**/?.t?t", ["a.txt"]],
    ])("Glob finds %s", async (pattern, expected) => {
      const { call } = world();
      const found = String(await call("Glob", { pattern }))
        .split("\n")
        .filter((line) => line !== "No file fits.");
      expect(found.sort()).toEqual(expected);
    });

    test("Glob skips .git and node_modules unless they are named", async () => {
      const { call, folder } = world();
      for (const skipped of [".git", "node_modules"]) {
        mkdirSync(join(folder, skipped, "x"), { recursive: true });
        writeFileSync(join(folder, skipped, "x/i.js"), "two");
        expect(await call("Glob", { pattern: "**/*.js" })).toBe("No file fits.");
        expect(await call("Glob", { pattern: `${skipped}/**/*.js` })).toBe(`${skipped}/x/i.js`);
        rmSync(join(folder, skipped), { recursive: true });
      }
    });

    test("Grep searches with line numbers, context, counts, case and file patterns", async () => {
      const { call } = world();
      expect(await call("Grep", { pattern: "two" })).toBe("a.txt\nsrc/b.ts");
      expect(await call("Grep", { pattern: "^two$", output_mode: "content", "-C": 1 })).toBe(
        "a.txt-1-one\na.txt:2:two\na.txt-3-three",
      );
      expect(await call("Grep", { pattern: "TWO", "-i": true, glob: "*.ts", output_mode: "count" })).toBe(
        "src/b.ts:1\nsrc/deep/c.ts:1",
      );
      expect(await call("Grep", { pattern: "o", output_mode: "content", head_limit: 1 })).toContain("More than 1");
      await expect(call("Grep", { pattern: "(?=x)" })).rejects.toThrow(/not a valid RE2 regular expression/);
      await expect(call("Grep", { pattern: "(" })).rejects.toThrow(/not a valid RE2 regular expression/);
    });

    test("patterns that take exponential time in other regex engines are fast here", async () => {
      const { call, folder } = world();
      writeFileSync(join(folder, "evil.txt"), `${"a".repeat(5000)}b\n`);
      const started = process.cpuUsage();
      await call("Grep", { pattern: "^(a+)+$", path: "evil.txt" });
      await call("Glob", { pattern: `${"*a".repeat(200)}*c` });
      expect(process.cpuUsage(started).user).toBeLessThan(3_000_000);
    });
  });
});

test.skipIf(!hasBubblewrap)(
  "if a session has a sandbox, every file is opened in it, and only Write and Edit may write",
  async () => {
    const { folder, tool } = toolsWorld();
    const opened = await openSandbox();
    if ("problem" in opened) throw new Error(opened.problem);
    const started: string[] = [];
    const sandbox: Sandbox = {
      ...opened.sandbox,
      start(program) {
        started.push(program.places.map(({ path, access }) => `${access} ${path}`).join(", "));
        return opened.sandbox.start(program);
      },
    };
    const calls: readonly (readonly [string, object, readonly string[]])[] = [
      ["Read", { file_path: "a.txt" }, ["read"]],
      ["Write", { file_path: "new.txt", content: "new" }, ["write"]],
      ["Edit", { file_path: "a.txt", old_string: "two", new_string: "2" }, ["read", "write"]],
      ["Glob", { pattern: "*" }, ["read"]],
      ["Grep", { pattern: "one" }, ["read", "read"]],
    ];
    for (const [name, input, accesses] of calls) {
      started.length = 0;
      await tool(name).run(input, {
        sessionId: "s",
        runId: "r",
        toolUseId: "t",
        idempotencyKey: "s/t",
        workingDirectory: null,
        workplace: async () => ({ folder, sandbox }),
        signal: new AbortController().signal,
      });
      expect([name, ...started]).toEqual([name, ...accesses.map((access) => `${access} ${folder}`)]);
    }
  },
);

describe("Bash", () => {
  test("Bash runs in the folder with only seven environment variables, without the server's keys", async () => {
    process.env["ANTHROPIC_API_KEY"] ??= "sk-ant-CANARY";
    process.env["SKEIN_CANARY"] = "CANARY";
    onTestFinished(() => {
      delete process.env["SKEIN_CANARY"];
      if (process.env["ANTHROPIC_API_KEY"] === "sk-ant-CANARY") delete process.env["ANTHROPIC_API_KEY"];
    });
    const { call, folder } = toolsWorld();
    expect(String(await call("Bash", { command: "pwd" })).trim()).toBe(folder);
    const printed = String(await call("Bash", { command: "env" }));
    expect(printed).not.toMatch(/CANARY|ANTHROPIC|sk-ant/);
    expect(
      printed
        .trim()
        .split("\n")
        .map((line) => line.split("=")[0])
        .sort(),
    ).toEqual(["HOME", "LANG", "PATH", "PWD", "SHLVL", "TERM", "_"].sort());
  });

  test("Bash reports a failure with the output", async () => {
    const { call } = toolsWorld();
    await expect(call("Bash", { command: "echo out; echo err >&2; exit 3" })).rejects.toThrow(/Exit code 3\nout\nerr/);
  });

  test("Bash keeps the beginning and the end of the output, whatever the size", async () => {
    const { call } = toolsWorld();
    const command = "echo FIRST; head -c 20000000 /dev/zero | tr '\\0' x; echo LAST";
    const printed = String(await call("Bash", { command }));
    expect(printed.length).toBeLessThan(31_000);
    expect(printed).toMatch(/^FIRST/);
    expect(printed.trim()).toMatch(/LAST$/);
    expect(printed).toContain("characters are left out here");
  });

  test.each([
    ["time-out", 200],
    ["abort", 60_000],
  ])("on %s, Bash ends the command and every process that the command started", async (how, timeout) => {
    const { call, folder } = toolsWorld();
    const stop = new AbortController();
    const [one, two] = [marker(), marker()];
    const command = `trap '' TERM; (sleep ${one} &); sleep ${two} & touch begun; wait`;
    const started = performance.now();
    const run = call("Bash", { command, timeout }, stop.signal);
    if (how === "abort") setTimeout(() => stop.abort(), 200);
    await expect.poll(() => existsSync(join(folder, "begun"))).toBe(true);
    await expect(run).rejects.toThrow(how === "abort" ? /Exit code/ : /stopped after 200 ms/);
    expect(performance.now() - started).toBeLessThan(1500);
    for (const seconds of [one, two]) expect(sleeping(seconds)).toBe(false);
  });

  test.each([true, false])(
    "Bash does not wait for background processes, and ends them with the command (isolated: %s)",
    async (isolate) => {
      const { call } = toolsWorld({ bash: { isolate } });
      const seconds = marker();
      const started = performance.now();
      expect(await call("Bash", { command: `sleep ${seconds} & echo done` })).toBe("done\n");
      expect(performance.now() - started).toBeLessThan(1500);
      expect(sleeping(seconds)).toBe(false);
    },
  );
});

test("in a PID namespace, a command sees no other processes, and processes that left its group end with the command", async ({
  skip,
}) => {
  const { call, folder } = toolsWorld();
  const seen = Number(await call("Bash", { command: "ls /proc | grep -c '^[0-9]'" }));
  skip(seen > 10, "This system does not let an ordinary user make a PID namespace.");
  expect(
    String(await call("Bash", { command: "cat /proc/*/environ | tr '\\0' '\\n' | cut -d= -f1 | sort -u" })),
  ).not.toMatch(/NODE|VITEST|npm_/);
  const seconds = marker();
  await call("Bash", { command: `setsid sleep ${seconds} & touch begun; sleep 0.2` });
  expect(existsSync(join(folder, "begun"))).toBe(true);
  expect(sleeping(seconds)).toBe(false);
});

describe("TodoWrite", () => {
  test("TodoWrite accepts a list of items, or a Markdown checklist", async () => {
    const { call } = toolsWorld();
    const todos = [
      { content: "Look", status: "completed", activeForm: "Looking" },
      { content: "Leap", status: "in_progress", activeForm: "Leaping" },
      { content: "Land", status: "pending", activeForm: "Landing" },
    ];
    const list = "1 of 3 done.\n- [x] Look\n- [~] Leap\n- [ ] Land";
    expect(await call("TodoWrite", { todos })).toBe(list);
    expect(await call("TodoWrite", { todos: "- [x] Look\n- [~] Leap\n\n* [ ] Land\nno item" })).toBe(list);
    expect(await call("TodoWrite", { todos: [] })).toBe("The list is empty.");
  });
});

test("AskUserQuestion has the shape of Claude Code's tool: one to four questions with two to four options", () => {
  const ask = createAskUserQuestion();
  const options = [{ label: "Red", description: "Warm" }, { label: "Blue" }];
  const questions = [{ question: "Which colour?", header: "Colour", options, multiSelect: false }];
  expect(ask).toMatchObject({ name: "AskUserQuestion", executor: "question" });
  expect(ask.parse({ questions })).toEqual({ questions });
  expect(() => ask.parse({ question: "Which?" })).toThrow(/questions/);
  const many = (questionCount: number, optionCount: number) => {
    const labels = Array.from({ length: optionCount }, (_, n) => ({ label: `Colour ${n}` }));
    return {
      questions: Array.from({ length: questionCount }, (_, n) => ({ question: `Which ${n}?`, options: labels })),
    };
  };
  for (const asked of [many(1, 2), many(4, 4)]) expect(ask.parse(asked)).toEqual(asked);
  for (const asked of [many(0, 2), many(5, 2)]) expect(() => ask.parse(asked)).toThrow(/questions/);
  for (const asked of [many(1, 1), many(1, 5)]) expect(() => ask.parse(asked)).toThrow(/options/);
});

/** Returns a random number of seconds, so that `sleeping` finds only the process of this test. */
function marker(): string {
  return `60.${randomInt(1e9, 9e9)}`;
}

/** Tells whether a process on this machine sleeps for this number of seconds. */
function sleeping(seconds: string): boolean {
  return readdirSync("/proc").some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8") === `sleep\0${seconds}\0`;
    } catch {
      return false;
    }
  });
}
