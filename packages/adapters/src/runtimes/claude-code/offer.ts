import type { ClaudeOffer } from "@skein/protocol";
import type { SDKControlInitializeResponse, SDKMessage } from "@anthropic-ai/claude-agent-sdk";
import type { ChildDeps, ChildStart } from "./claude-child.ts";
import { createInbox, userMessage } from "./inbox.ts";
import { hasFailedServers, withServerErrors } from "./server-errors.ts";

type Init = Extract<SDKMessage, { type: "system"; subtype: "init" }>;

/**
 * What a new session would have (tools, models, commands, servers), as Claude Code reports it. Skein adds the default
 * model.
 */
export type Offer = Omit<ClaudeOffer, "default_model" | "mcp_servers"> & {
  readonly mcp_servers: readonly { readonly name: string; readonly status: string; readonly error?: string }[];
};

/** A command that needs no model. Before its answer, Claude Code reports its tools, models and servers. */
const WITHOUT_MODEL = "/cost";

/** Starts a process to find out what a session with these options would have. Ends the process, but keeps its files. */
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
      // The sandbox has no real key. A placeholder is enough, because the process makes no request.
      env: { ANTHROPIC_API_KEY: "none", ...options.env },
      persistSession: false,
      // Without a permission callback, Claude Code would not offer the tools that ask a person.
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
