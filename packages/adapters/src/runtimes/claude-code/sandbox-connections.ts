import type { Options } from "@anthropic-ai/claude-agent-sdk";
import type { SandboxPlace } from "@skein/core";
import { openHosts } from "../../sandboxes/host-gate.ts";
import type { ModelBroker, ModelPass, PassRules } from "../../sandboxes/model-broker/index.ts";
import type { BudgetMeter } from "./budget.ts";
import type { ClaudeWalls } from "./claude-walls.ts";
import { edgeServers } from "./edge-servers.ts";
import type { OwnServer } from "./options.ts";
import { BROKER_SOCKET } from "./process-guard/index.ts";
import type { SessionModels } from "./session-models.ts";

/** The options of a process, and the rules for its connections. */
export interface WaysOutStart {
  readonly options: Options;
  /** The sandbox of the process. Without a sandbox, the process has the rights of this server's user. */
  readonly walls?: ClaudeWalls | undefined;
  /**
   * The broker through which the process calls the model. Without a broker, the process calls the model directly and
   * has the real key.
   */
  readonly broker?: ModelBroker | undefined;
  readonly models: SessionModels;
  /** Hosts that the process may call. */
  readonly hosts?: readonly string[];
  /** Reserves money for each model call under the operator's caps. */
  readonly pay?: PassRules["pay"];
  /** Returns true if the operator's rules allow this tool. */
  readonly allowsTool?: (name: string) => boolean;
  /** The operator's MCP servers among the servers of the process. */
  readonly ownServers?: Readonly<Record<string, OwnServer>> | undefined;
  /**
   * Returns the reason as a sentence if the process may not call this model. `current` is the model that was set last.
   */
  readonly modelRefusal?: (model: string, current: string | undefined) => string | undefined;
}

/** Functions that use the data of the session for which the process works now. */
interface Current {
  readonly model: () => string | undefined;
  readonly budget: () => BudgetMeter | undefined;
  /** Handles the beginning of an answer. `maxTokens` is the token limit of the answer. */
  readonly onBegun: (apiMessageId: string, maxTokens: number) => void;
  /** Returns true if a prompt of the session has an image or a document at this address. */
  readonly allowsUrl: (url: string) => boolean;
}

/** The connections of a process: to the model, to MCP servers, and to the allowed hosts. */
interface WaysOut {
  readonly pass: ModelPass;
  /** The options of the process, with the addresses of these connections. */
  readonly options: Options;
  readonly places: readonly SandboxPlace[];
  close(): Promise<void>;
}

/**
 * Opens the connections of a process. Returns undefined if the process connects directly. If a connection cannot be
 * opened, closes the others.
 */
export async function openWays(start: WaysOutStart, current: Current): Promise<WaysOut | undefined> {
  const { options, walls, broker, hosts = [], ownServers = {} } = start;
  if (!broker) return undefined;
  const pass = await broker.issue({
    reach: start.models.reach,
    refusal: (model) => start.modelRefusal?.(model, current.model()) ?? current.budget()?.refusal(),
    onBegun: current.onBegun,
    allowsUrl: current.allowsUrl,
    allowsTool: start.allowsTool,
    onUsage: (model, usage, own) => current.budget()?.used(model, usage, own?.price),
    ...(start.pay && { pay: start.pay }),
  });
  if (!walls) {
    const env = { ...options.env, ...wayToModel(pass.token, pass.socket) };
    return { pass, options: { ...options, env }, places: [], close: pass.close };
  }
  const opened: { close(): void | Promise<void> }[] = [pass];
  const close = async (): Promise<void> => {
    for (const one of opened) await one.close();
  };
  try {
    const gate = await openHosts(hosts, walls.places);
    if (gate) opened.push(gate);
    const edge = await edgeServers(options.mcpServers ?? {}, ownServers, walls);
    opened.push(edge);
    return {
      pass,
      options: {
        ...options,
        env: { ...options.env, ...wayToModel(pass.token, BROKER_SOCKET), ...gate?.env },
        ...(options.mcpServers && { mcpServers: edge.servers }),
      },
      places: [{ path: pass.socket, access: "read", inside: BROKER_SOCKET }, ...(gate ? [gate.place] : [])],
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Returns the environment variables for a process that calls the model through the broker. The token is valid only for
 * this process, and only while a worker runs the session.
 */
function wayToModel(token: string, socket: string): Record<string, string> {
  return {
    ANTHROPIC_UNIX_SOCKET: socket,
    // This is not the real address, because Claude Code would first resolve its name. Without a network, resolving a
    // name takes 18 s.
    ANTHROPIC_BASE_URL: "http://broker",
    ANTHROPIC_API_KEY: token,
  };
}
