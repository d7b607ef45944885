import { type JsonObject, createIds } from "@skein/protocol";
import { expect, test } from "vitest";
import { createMemoryStore } from "../../src/memory-store/memory-store.ts";
import { entriesOf } from "../../src/sessions/forked-transcript.ts";
import { createSessions } from "../../src/sessions/sessions.ts";
import { createScript } from "../../src/testing/script.ts";

/** Imports a session on Claude Code with one prompt and its checkpoint. */
async function imported() {
  const [store, ids] = [createMemoryStore(), createIds()];
  const sessions = createSessions({ store, ids });
  const script = createScript({ store, ids });
  await script.create();
  const [prompt, answer] = [ids(), ids()];
  const entries: JsonObject[] = [
    { type: "user", uuid: prompt, parentUuid: null, message: { role: "user", content: prompt } },
    { type: "assistant", uuid: answer, parentUuid: prompt, message: { id: "msg_1", role: "assistant", content: [] } },
  ];
  const text = `{"type": "assistant", "uuid": "${answer}", "parentUuid": "${prompt}"}`;
  await script.append(
    [
      { event_type: "message.copied", data: { message_id: prompt, role: "user", content: prompt } },
      {
        event_type: "checkpoint.created",
        data: { checkpoint_id: ids(), user_message_uuid: prompt, files_modified: [] },
      },
      {
        event_type: "transcript.appended",
        data: { entries, subpath: null, odd_lines: [{ at: 1, text, is_entry: true }] },
      },
    ],
    { lease: await script.claim(), expect: 1, release: { dueAt: null } },
  );
  const { id } = await sessions.import(await store.read(script.sessionId));
  const log = await store.read(id);
  const [message] = await sessions.transcript(id);
  return { prompt, answer, entries, text, log, checkpoints: await store.checkpoints(id), message: message?.id ?? "" };
}

test("entries of an imported Claude Code transcript have the new ids of their messages, and keep their content", async () => {
  const { prompt, answer, entries, text, log, message } = await imported();
  expect(message).not.toBe(prompt);
  expect(entriesOf(log)).toEqual([
    { ...entries[0], uuid: message },
    { ...entries[1], uuid: answer, parentUuid: message },
  ]);
  const lines = log.flatMap((event) => (event.event_type === "transcript.appended" ? event.data.odd_lines : []));
  expect(lines).toEqual([{ at: 1, text: text.replace(prompt, message), is_entry: true }]);
});

test("a checkpoint of an imported session names its message by the new id", async () => {
  const { checkpoints, message } = await imported();
  expect(checkpoints.map(({ user_message_uuid }) => user_message_uuid)).toEqual([message]);
});
