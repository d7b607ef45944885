/** Tests the files that a Git host reads: workflows, and forms for issues and pull requests. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";

const root = fileURLToPath(new URL("../..", import.meta.url));
const text = (path: string): string => readFileSync(join(root, path), "utf8");
const { scripts } = JSON.parse(text("package.json")) as { readonly scripts: Readonly<Record<string, string>> };

interface Workflow {
  readonly name: string;
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

interface Job {
  readonly "runs-on": string;
  readonly "timeout-minutes"?: number;
  readonly steps: readonly { readonly uses?: string; readonly run?: string }[];
}

describe.each(globSync(".github/workflows/*.yml", { cwd: root }))("%s", (file) => {
  const workflow = parse(text(file)) as Workflow;
  const jobs = Object.entries(workflow.jobs);

  test("a workflow may only read the repository, and every job has a time limit", () => {
    expect(workflow.permissions).toEqual({ contents: "read" });
    expect(Object.keys(workflow.on).length).toBeGreaterThan(0);
    expect(jobs.filter(([, job]) => job["timeout-minutes"] === undefined).map(([name]) => name)).toEqual([]);
  });

  test("each step of a workflow uses an action with a fixed major version or runs a command", () => {
    for (const [, { steps }] of jobs)
      for (const { uses, run } of steps) expect(uses ?? run).toMatch(uses ? /^actions\/[\w-]+@v\d+$/ : /\S/);
  });

  test("a workflow runs only npm scripts that exist", () => {
    const commands = jobs.flatMap(([, { steps }]) => steps.flatMap(({ run }) => run ?? []));
    const named = commands.flatMap((command) => [...command.matchAll(/npm (?:run ([\w:-]+)|(test))/g)]);
    expect(named.length).toBeGreaterThan(0);
    expect(named.map(([, run, own]) => run ?? own ?? "").filter((name) => !(name in scripts))).toEqual([]);
  });

  test("a workflow installs with npm install, because npm ci rejects a lock file without packages of other systems", () => {
    expect(text(file)).not.toContain("npm ci");
  });
});

test("CI uses the three systems of docs/reference/systems.md, and runs the commands of .ci/run on Linux", () => {
  const { jobs } = parse(text(".github/workflows/ci.yml")) as Workflow;
  const systems = Object.values(jobs).map((job) => job["runs-on"].split("-")[0]);
  expect(new Set(systems)).toEqual(new Set(["ubuntu", "macos", "windows"]));
  const ours = text(".ci/run")
    .split("\n")
    .filter((line) => line.startsWith("npm "));
  const linux = jobs["linux"]?.steps.map(({ run }) => run);
  expect(ours.length).toBe(3);
  expect(ours.filter((command) => !linux?.includes(command))).toEqual([]);
});

describe.each(globSync(".github/ISSUE_TEMPLATE/[!c]*.yml", { cwd: root }))("the form %s", (file) => {
  const form = parse(text(file)) as {
    readonly name: string;
    readonly description: string;
    readonly body: readonly { readonly type: string; readonly id?: string; readonly attributes: { label?: string } }[];
  };

  test("a form has a name, a description, and fields with unique labels and ids", () => {
    expect([form.name, form.description]).toEqual([expect.any(String), expect.any(String)]);
    const fields = form.body.filter(({ type }) => type !== "markdown");
    expect(fields.length).toBeGreaterThan(1);
    expect(fields.filter(({ attributes }) => !attributes.label)).toEqual([]);
    expect(new Set(fields.map(({ id }) => id)).size).toBe(fields.length);
  });
});

test("there are a security policy, a code of conduct and a form for pull requests", () => {
  const files = [
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
    ".github/PULL_REQUEST_TEMPLATE.md",
    ".github/ISSUE_TEMPLATE/config.yml",
  ];
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});
