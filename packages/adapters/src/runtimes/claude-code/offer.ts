import type { ClaudeOffer } from "@skein/protocol";
import type { SDKControlInitializeResponse, SDKMessage } from "@anthropic-ai/claude-agent-sdk";
import type { ChildDeps, ChildStart } from "./claude-child.ts";
import { createInbox, userMessage } from "./inbox.ts";
import { hasFailedServers, withServerErrors } from "./server-errors.ts";

type Init = Extract<SDKMessage, { type: "system"; subtype: "init" }>;

/** The offer as Claude Code reports it, without the default model, which Skein decides. */
export type Offer = Omit<ClaudeOffer, "default_model" | "mcp_servers"> & {
  readonly mcp_servers: readonly { readonly name: string; readonly status: string; readonly error?: string }[];
};

/** A command that Claude Code answers without a model. Before the answer, it reports its tools, models and servers. */
const WITHOUT_MODEL = "/cost";

/** Starts a process only to find out what a session with these options would have, and removes its files afterwards. */
export async function askOffer(
  { options, places }: Pick<ChildStart, "options" | "places">,
  { sdk, spawn }: ChildDeps,
  signal: AbortSignal,
): Promise<Offer> {
  const inbox = createInbox();
  let stop = (): void => {};
  const query = sdk.query({
    prompt: inbox.messages(),
    options: {
      ...options,
      // In the sandbox there is no real key. A placeholder is enough, because no request is made.
      env: { ANTHROPIC_API_KEY: "none", ...options.env },
      persistSession: false,
      // Claude Code offers tools that ask a person only if there is a permission callback.
      canUseTool: async () => ({ behavior: "deny", message: "Nothing is run here." }),
      spawnClaudeCodeProcess(request) {
        const process = spawn(request, places);
        process.agree?.({ isBusy: () => false, goodForMs: () => 21_000 });
        stop = () => void process.kill("SIGKILL");
        return process;
      },
    },
  });
  const onAbort = (): void => stop();
  signal.addEventListener("abort", onAbort);
  try {
    const up = await query.initializationResult();
    inbox.put(userMessage(crypto.randomUUID(), WITHOUT_MODEL));
    for await (const message of query) {
      if (message.type !== "system" || message.subtype !== "init") continue;
      const init = hasFailedServers(message) ? ((await withServerErrors(message, query)) as Init) : message;
      return offerOf(up, init);
    }
    throw new Error("Claude Code ended before it reported its tools, models and commands.");
  } finally {
    signal.removeEventListener("abort", onAbort);
    inbox.end();
    query.close();
    stop();
  }
}

function offerOf(
  { models, commands, agents, available_output_styles }: SDKControlInitializeResponse,
  init: Init,
): Offer {
  return {
    models: models.map(({ value, displayName, description, resolvedModel, supportedEffortLevels }) => ({
      name: value,
      display_name: displayName,
      description,
      resolved: resolvedModel ?? null,
      efforts: supportedEffortLevels ?? [],
    })),
    tools: init.tools,
    commands: commands.map(({ name, description, argumentHint }) => ({
      name,
      description,
      argument_hint: argumentHint,
    })),
    agents: agents.map(({ name, description, model }) => ({ name, description, model: model ?? null })),
    skills: init.skills ?? [],
    mcp_servers: init.mcp_servers,
    plugins: init.plugins.map(({ name }) => name),
    output_styles: available_output_styles,
    claude_code_version: init.claude_code_version ?? null,
  };
}
