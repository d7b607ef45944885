import { expect, test } from "vitest";
import Anthropic from "@anthropic-ai/sdk";
import { play, rig, textOf } from "./client.ts";

const chart = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 255]);

test("an answer with code execution has the call, its result, a container, and files that can be downloaded", async () => {
  const { client } = await rig();
  const code = {
    command: "python plot.py",
    stdout: "done\n",
    files: [
      { name: "chart.png", base64: chart.toString("base64") },
      { name: "data.csv", content: "a,b\n1,ü\n" },
    ],
  };
  const message = await client.messages.stream(play({ code, text: "Here is the chart." })).finalMessage();
  expect(message.content.map((block) => block.type)).toEqual([
    "server_tool_use",
    "bash_code_execution_tool_result",
    "text",
  ]);
  expect(message.stop_reason).toBe("end_turn");
  expect(message.container?.id).toMatch(/^container_/);
  expect(Date.parse(message.container?.expires_at ?? "")).toBeGreaterThan(Date.now());

  const [use, result] = message.content as [Anthropic.ServerToolUseBlock, Anthropic.BashCodeExecutionToolResultBlock];
  expect(use).toMatchObject({ name: "bash_code_execution", input: { command: "python plot.py" } });
  expect(result.tool_use_id).toBe(use.id);
  const output = result.content as Anthropic.BashCodeExecutionResultBlock;
  expect(output).toMatchObject({ stdout: "done\n", stderr: "", return_code: 0 });

  const [image = "", data = ""] = output.content.map((file) => file.file_id);
  expect(await client.files.retrieveMetadata(image)).toMatchObject({
    filename: "chart.png",
    mime_type: "image/png",
    size_bytes: 6,
    downloadable: true,
  });
  expect(Buffer.from(await (await client.files.download(image)).arrayBuffer())).toEqual(chart);
  expect(await (await client.beta.files.download(data)).text()).toBe("a,b\n1,ü\n");
});

test("the container that a request names is used again", async () => {
  const { client } = await rig();
  const first = await client.messages.create(play({ code: { command: "ls" } }));
  const id = first.container?.id ?? "";
  const second = await client.messages.create({ ...play({ code: { command: "ls" } }), container: id });
  expect(second.container?.id).toBe(id);
  const third = await client.messages.create({ ...play({ text: "no code" }), container: id });
  expect(third.container?.id).toBe(id);
  expect((await client.messages.create(play({ text: "no code" }))).container).toBeNull();
});

test("the older Python tool and a failed tool have their own kinds of result blocks", async () => {
  const { client } = await rig();
  const message = await client.messages.create(
    play({
      code: [
        { code: "print(1)", stdout: "1\n" },
        { command: "x", error: "unavailable" },
      ],
    }),
  );
  expect(message.content).toMatchObject([
    { type: "server_tool_use", name: "code_execution", input: { code: "print(1)" } },
    { type: "code_execution_tool_result", content: { type: "code_execution_result", stdout: "1\n" } },
    { type: "server_tool_use", name: "bash_code_execution" },
    { content: { type: "bash_code_execution_tool_result_error", error_code: "unavailable" } },
  ]);
});

test("a web search has results, citations and its counter, and can pause the turn", async () => {
  const { client } = await rig();
  const search = {
    query: "skein",
    results: [
      { title: "Skein", url: "https://example.com/skein", cite: "a length of yarn" },
      { title: "Yarn", url: "https://example.com/yarn", pageAge: "2 days" },
    ],
  };
  const body = play({ search, text: "A skein is a length of yarn.", stop: "pause_turn" });
  const message = await client.messages.stream(body).finalMessage();
  expect(message.stop_reason).toBe("pause_turn");
  expect(message.usage.server_tool_use).toMatchObject({ web_search_requests: 1 });
  expect(message.content[1]).toMatchObject({
    type: "web_search_tool_result",
    content: [{ title: "Skein" }, { page_age: "2 days" }],
  });
  expect(message.content[2]).toMatchObject({
    citations: [
      { type: "web_search_result_location", cited_text: "a length of yarn", url: "https://example.com/skein" },
    ],
  });
  expect(await client.messages.create(body)).toMatchObject({ content: [{}, {}, { citations: [{}] }] });

  const next: Anthropic.MessageParam[] = [...body.messages, { role: "assistant", content: message.content }];
  expect(textOf(await client.messages.create({ ...body, messages: next }))).toBe("A skein is a length of yarn.");
});

test("an uploaded file can be listed, described and deleted, but not downloaded", async () => {
  const { client } = await rig();
  const uploads = await Promise.all(
    ["one.txt", "two.txt", "three.txt"].map((name) =>
      client.files.upload({ file: new File(["hällo"], name, { type: "text/plain" }) }),
    ),
  );
  expect(uploads[0]).toMatchObject({ type: "file", filename: "one.txt", size_bytes: 6, mime_type: "text/plain" });

  const listed: string[] = [];
  for await (const file of client.files.list({ limit: 2 })) listed.push(file.id);
  expect(listed.toSorted()).toEqual(uploads.map((file) => file.id).toSorted());

  const id = uploads[0]?.id ?? "";
  await expect(client.files.download(id)).rejects.toMatchObject({ status: 400, errorCode: "file_not_downloadable" });
  expect(await client.files.delete(id)).toEqual({ id, type: "file_deleted" });
  await expect(client.files.retrieveMetadata(id)).rejects.toBeInstanceOf(Anthropic.NotFoundError);
  await expect(client.files.download("file_unknown")).rejects.toBeInstanceOf(Anthropic.NotFoundError);
});
