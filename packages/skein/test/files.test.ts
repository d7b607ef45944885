import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createAnthropicModel } from "@skein/adapters/models/anthropic";
import { type AgentOptions, type AgentResult } from "skein";
import { expect, onTestFinished, test } from "vitest";
import { scripted, simulatedAgent } from "../../core/test/loop/simulated.ts";

const coding = {
  server_tools: [{ type: "code_execution_20250825", name: "code_execution" }],
  beta_headers: ["code-execution-2025-08-25", "files-api-2025-04-14"],
} satisfies AgentOptions;

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "skein-generated-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

const charting = (name: string, content: string) => [
  { code: { command: "plot", files: [{ name, content, mime: "image/png" }] }, text: `Made ${name}` },
];

const rows = (result: AgentResult, action: string) =>
  result.agentLogs.filter(({ actionType }) => actionType === action).map(({ actionData }) => actionData);

test("files of code execution are downloaded, stored and registered, and belong to their run", async () => {
  const files = await folder();
  const { agent, simulator } = await simulatedAgent({ ...coding, files });
  const first = await agent.run(scripted("One", charting("chart.png", "PNG one")));
  const { sessionId } = first;
  const second = await agent.run(scripted("Two", charting("../../other.png", "PNG two")), { sessionId });
  const third = await agent.run(scripted("Three", [{ text: "No file" }]), { sessionId });

  expect(first.generatedFiles).toHaveLength(1);
  const [made] = first.generatedFiles;
  expect(made).toMatchObject({ filename: "chart.png", size: 7, mime_type: "image/png", step: 1 });
  expect(Date.parse(made?.timestamp ?? "")).toBeGreaterThan(0);
  expect(basename(made?.storage_path ?? "")).toBe(`${made?.file_id}_chart.png`);
  expect(await readFile(made?.storage_path ?? "", "utf8")).toBe("PNG one");
  expect(second.generatedFiles.map(({ filename }) => filename)).toEqual(["../../other.png"]);
  expect(second.generatedFiles[0]?.storage_path).toMatch(new RegExp(`^${files}/.*_other\\.png$`));
  expect(third.generatedFiles).toEqual([]);

  const { files: registry } = await (await agent.sessions()).state(sessionId);
  expect(Object.keys(registry)).toHaveLength(2);
  const entry = registry[made?.file_id ?? ""];
  expect(Object.keys(entry ?? {}).sort()).toEqual(
    ["created_in_run", "filename", "last_updated_at", "last_updated_run", "mime_type", "size", "storage_path"].sort(),
  );
  expect(entry).toMatchObject({ created_in_run: first.runId, last_updated_run: first.runId });
  const downloads = simulator.ledger.calls({ kind: "files" }).filter(({ path }) => path.endsWith("/content"));
  expect(downloads).toHaveLength(2);
});

test("each file has three rows in the log: generated, downloaded, stored", async () => {
  const { agent } = await simulatedAgent({ ...coding, files: await folder() });
  const result = await agent.run(scripted("Rows", charting("a.csv", "1,2")));
  expect(rows(result, "file_generated")[0]).toMatchObject({ filename: "a.csv" });
  expect(rows(result, "file_downloaded")[0]).toMatchObject({ filename: "a.csv", size: 3 });
  expect(Object.keys(rows(result, "file_stored")[0] ?? {}).sort()).toEqual(
    ["file_id", "filename", "mime_type", "size", "storage_path"].sort(),
  );
  expect(rows(result, "run_completed")[0]).toMatchObject({ files_generated: 1 });
});

test("a file that cannot be stored is reported, with a row for the error, and the run continues", async () => {
  const failing = {
    put: () => Promise.reject(new Error("The disk is on fire.")),
    get: () => Promise.reject(new Error("never")),
  };
  const { agent } = await simulatedAgent({ ...coding, files: failing });
  const result = await agent.run(scripted("Fire", charting("a.csv", "1,2")));
  expect(result).toMatchObject({ finalAnswer: "Made a.csv", error: null, generatedFiles: [] });
  expect(rows(result, "file_error")).toEqual([
    { file_id: expect.any(String), filename: "a.csv", error: { code: "file_error", message: "The disk is on fire." } },
  ]);
  expect(rows(result, "error")).toHaveLength(1);
});

test("a file that the API does not return is reported, and the run continues", async () => {
  const { agent } = await simulatedAgent({ ...coding, files: await folder() });
  const output = { type: "bash_code_execution_output", file_id: "file_gone" };
  const result = await agent.run(
    scripted("Gone", [
      {
        blocks: [
          { type: "server_tool_use", id: "srvtoolu_1", name: "bash_code_execution", input: { command: "x" } },
          {
            type: "bash_code_execution_tool_result",
            tool_use_id: "srvtoolu_1",
            content: { type: "bash_code_execution_result", stdout: "", stderr: "", return_code: 0, content: [output] },
          },
          { type: "text", text: "Here" },
        ],
      },
    ]),
  );
  expect(result).toMatchObject({ finalAnswer: "Here", error: null });
  expect(rows(result, "file_error")[0]).toMatchObject({ file_id: "file_gone" });
});

test("a file up to the size limit is downloaded, and a larger one is rejected", async () => {
  const { agent, simulator } = await simulatedAgent({ ...coding, files: await folder() });
  const made = async (content: string): Promise<string> => {
    const { generatedFiles } = await agent.run(scripted(content, charting("a.csv", content)));
    return generatedFiles[0]?.file_id ?? "";
  };
  const model = createAnthropicModel({ apiKey: "none", baseUrl: simulator.url, fileLimit: 5 });
  const never = new AbortController().signal;
  expect(Buffer.from((await model.download?.(await made("12345"), never))?.bytes ?? []).toString()).toBe("12345");
  await expect(model.download?.(await made("123456"), never)).rejects.toMatchObject({
    failure: { code: "file_too_large" },
    retryable: false,
  });
});

test("if an agent has no file store, the run reports that a generated file was lost", async () => {
  const { agent } = await simulatedAgent(coding);
  const result = await agent.run(scripted("Nowhere", charting("a.csv", "1,2")));
  expect(result).toMatchObject({ finalAnswer: "Made a.csv", error: null });
  expect(rows(result, "file_error")[0]?.["error"]).toMatchObject({ code: "no_file_store" });
});
