import { script } from "@skein/simulator";
import type { Served } from "../fuzz/start-server.ts";

/** A session on a server, and functions that change the session. */
export interface ServedSession {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Appends one event. */
  edit(title: string): Promise<void>;
  /** Sends a prompt. The answer arrives in this number of pieces, with a pause after each piece. */
  talk(pieces: number, pauseMs: number): Promise<void>;
}

export async function openSession({ url, keys }: Served): Promise<ServedSession> {
  const headers = { "x-api-key": keys.admin };
  const call = async (method: string, path: string, body: unknown): Promise<{ id: string }> => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { id: string };
  };
  const agent = await call("POST", "/v1/agents", { name: "Wire" });
  const { id } = await call("POST", "/v1/sessions", { agent_id: agent.id });
  const path = `/v1/sessions/${id}`;
  return {
    path,
    headers,
    edit: async (title) => void (await call("PATCH", path, { title })),
    async talk(pieces, pauseMs) {
      const text = "piece ".repeat(pieces);
      const prompt = `Talk. ${script([{ text, chunk: "piece ".length, chunkDelayMs: pauseMs }], "Talk.")}`;
      await call("POST", `${path}/messages`, { role: "user", content: { text: prompt } });
    },
  };
}
