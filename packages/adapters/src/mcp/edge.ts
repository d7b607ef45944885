import { type JSONRPCMessage, type Transport, isJSONRPCRequest } from "@modelcontextprotocol/client";
import { withoutSecrets } from "@skein/protocol";
import type { OpenTransport } from "./sandboxed-transport.ts";
import { type McpPlace, openTransport } from "./transport.ts";

/** Connects a program in a sandbox with an MCP server. The credentials of the server stay in this process. */
export interface McpEdge {
  /** Passes messages between the program and the server. If the server cannot be used, every request gets an error. */
  connect(program: Transport): Promise<void>;
  close(): Promise<void>;
}

export function openMcpEdge(name: string, place: McpPlace): McpEdge {
  const opened = new Set<OpenTransport>();
  const close = async (): Promise<void> => {
    await Promise.all([...opened].map(({ transport }) => transport.close().catch(() => {})));
    opened.clear();
  };

  async function open(program: Transport): Promise<OpenTransport> {
    const server = await openTransport(name, place, () => opened.delete(server));
    const { transport } = server;
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the transport's own hook; it is no event target
    transport.onmessage = (message: JSONRPCMessage) => {
      const version = versionIn(message);
      if (version !== undefined) transport.setProtocolVersion?.(version);
      program.send(message).catch(() => transport.close());
    };
    opened.add(server);
    await transport.start();
    return server;
  }

  return {
    async connect(program) {
      let server: Promise<OpenTransport> | undefined;
      const carry = async (message: JSONRPCMessage): Promise<void> => {
        try {
          const current = await (server ??= open(program));
          await current.transport.send(message);
        } catch (error) {
          server = undefined;
          if (!isJSONRPCRequest(message)) return;
          const said = `The MCP server "${name}" cannot be used: ${sentence(error, place)}`;
          await program.send({ jsonrpc: "2.0", id: message.id, error: { code: -32_000, message: said } });
        }
      };
      // A message waits until the previous message was sent, because messages must keep their order.
      let last: Promise<void> = Promise.resolve();
      // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the transport's own hook; it is no event target
      program.onmessage = (message: JSONRPCMessage) => {
        last = last.then(() => carry(message)).catch(() => {});
      };
      // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the transport's own hook; it is no event target
      program.onclose = () => void close();
      await program.start();
    },
    close,
  };
}

function versionIn(message: JSONRPCMessage): string | undefined {
  const { result } = message as { result?: { protocolVersion?: unknown } };
  return typeof result?.protocolVersion === "string" ? result.protocolVersion : undefined;
}

/** Returns the error as a sentence. Removes the credentials, because the program in the sandbox gets this text. */
function sentence(error: unknown, { env = {}, headers = {} }: McpPlace): string {
  const message = error instanceof Error ? error.message : String(error);
  const secrets = [...Object.values(env), ...Object.values(headers)].filter((value) => value.length >= 4);
  return secrets.reduce((text, secret) => text.replaceAll(secret, "***"), withoutSecrets(message)).slice(0, 500);
}
