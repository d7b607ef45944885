import { type IncomingMessage, type Server, type ServerResponse, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { type Step, createSimulator, script } from "@skein/simulator";

export interface ScriptedModel {
  readonly url: string;
  /** Sets the steps that answer a prompt with exactly this text. */
  readonly plays: (prompt: string, steps: readonly Step[]) => void;
  close(): Promise<void>;
}

/**
 * Starts the simulator behind a small proxy. The simulator plays a script that is part of a prompt. The proxy adds the
 * script to known prompts, so that the logs of example sessions have natural prompts without scripts.
 */
export async function startScriptedModel(): Promise<ScriptedModel> {
  const scripts = new Map<string, readonly Step[]>();
  const simulator = await createSimulator({ demoDelayMs: 15 });
  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const text = withScripts(await bodyOf(incoming), scripts);
    const headers = {
      ...incoming.headers,
      host: new URL(simulator.url).host,
      "content-length": String(Buffer.byteLength(text)),
    };
    const options = { method: incoming.method ?? "POST", headers };
    const passed = request(`${simulator.url}${incoming.url}`, options, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
      answer.on("error", () => outgoing.destroy());
    });
    passed.on("error", () => outgoing.destroy());
    outgoing.on("close", () => passed.destroy());
    passed.end(text);
  }
  const server: Server = createServer((incoming, outgoing) => void pass(incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    plays: (prompt, steps) => void scripts.set(prompt, steps),
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await simulator.close();
    },
  };
}

interface Block {
  readonly type: string;
  readonly text?: string;
}
interface Request {
  messages?: { role: string; content: string | Block[] }[];
}

function withScripts(body: string, scripts: ReadonlyMap<string, readonly Step[]>): string {
  let asked: Request;
  try {
    asked = JSON.parse(body) as Request;
  } catch {
    return body;
  }
  for (const message of asked.messages ?? []) {
    if (message.role !== "user") continue;
    const blocks: Block[] =
      typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
    message.content = blocks.map((block) => {
      const steps = block.type === "text" ? scripts.get(block.text ?? "") : undefined;
      return steps ? { ...block, text: `${block.text} ${script(steps, block.text)}` } : block;
    });
  }
  return JSON.stringify(asked);
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of incoming) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}
