import type { ModelPrice } from "@skein/protocol";
import type { BrokeredModel, ModelBroker } from "../../sandboxes/model-broker/index.ts";
import type { ResolvedOptions } from "./options.ts";

/** Models that have an address and a key of their own. Claude Code reaches them through the broker, in a sandbox or not. */
export interface OwnModels {
  /**
   * How the model of this name is reached; undefined if it is a model of the server's own address. Throws an error if
   * Claude Code cannot use the model.
   */
  readonly reach: (tenant: string, name: string) => Promise<BrokeredModel | undefined>;
  readonly broker: ModelBroker;
}

/** What the answers of a model cost. */
export interface CallTerms {
  /** Whether the built-in simulation answers instead of a model. */
  readonly simulated: boolean;
  /** The price that the operator set. If it is missing, the table of known prices is used. */
  readonly price?: ModelPrice | undefined;
  /** Whether the model has an address of its own. */
  readonly isOwn: boolean;
}

/** The models of one session. */
export interface SessionModels {
  /** How a model is reached now. Remembers the answer for `termsOf`. */
  reach(name: string): Promise<BrokeredModel | undefined>;
  termsOf(name: string | null | undefined): CallTerms;
}

export interface SessionModelsDeps {
  readonly ownModels?: OwnModels | undefined;
  /** Whether the built-in simulation answers at the server's own address. */
  readonly simulated: boolean;
}

export function createSessionModels(tenant: string, { ownModels, simulated }: SessionModelsDeps): SessionModels {
  const known = new Map<string, BrokeredModel>();
  return {
    async reach(name) {
      const found = await ownModels?.reach(tenant, name);
      if (found) known.set(name, found);
      else known.delete(name);
      return found;
    },
    termsOf(name) {
      const own = known.get(name ?? "");
      return own ? { simulated: false, price: own.price, isOwn: true } : { simulated, isOwn: false };
    },
  };
}

/** The models that the options of a session name. */
export function namedModels({
  model,
  fallback_model,
  agents,
}: Partial<Pick<ResolvedOptions, "model" | "fallback_model" | "agents">>): readonly string[] {
  const named = [model, fallback_model, ...Object.values(agents ?? {}).map((agent) => agent.model)];
  return named.flatMap((name) => (name && name !== "inherit" ? [name] : []));
}

/**
 * Makes Claude Code use one model for everything: for its titles and summaries, and for subagents that name a family.
 * Otherwise it would call models of the server's own address for them.
 */
export function onlyModelEnvironment(
  name: string,
  { lacks = [] }: Pick<BrokeredModel, "lacks">,
): Record<string, string> {
  const families = ["HAIKU", "SONNET", "OPUS", "FABLE"];
  return {
    ...Object.fromEntries(families.map((family) => [`ANTHROPIC_DEFAULT_${family}_MODEL`, name])),
    // Servers that are not Anthropic's reject betas that they do not know.
    CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS: "1",
    ...(lacks.includes("caching") && { DISABLE_PROMPT_CACHING: "1" }),
    ...(lacks.includes("thinking") && { MAX_THINKING_TOKENS: "0" }),
  };
}
