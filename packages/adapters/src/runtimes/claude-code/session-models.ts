import type { ModelPrice } from "@skein/protocol";
import type { BrokeredModel, ModelBroker } from "../../sandboxes/model-broker/index.ts";
import type { ResolvedOptions } from "./options.ts";

/**
 * The models with a separate address and key. Claude Code always calls them through the model broker, which adds the
 * key, even without a sandbox.
 */
export interface OwnModels {
  /**
   * Returns how to call a model, or undefined for a model at this server's default address. Throws if Claude Code
   * cannot use the model.
   */
  readonly reach: (tenant: string, name: string) => Promise<BrokeredModel | undefined>;
  readonly broker: ModelBroker;
}

/** The terms by which a model's answers are priced. */
export interface CallTerms {
  /** Whether the built-in simulation answers instead of a model. */
  readonly simulated: boolean;
  /** The operator's price. Default: the price in the table of known prices. */
  readonly price?: ModelPrice | undefined;
  /** True if the model has a separate address. */
  readonly isOwn: boolean;
}

/** The models of a session. */
export interface SessionModels {
  /** Returns how to call a model now. Remembers the result for `termsOf`. */
  reach(name: string): Promise<BrokeredModel | undefined>;
  termsOf(name: string | null | undefined): CallTerms;
}

export interface SessionModelsDeps {
  readonly ownModels?: OwnModels | undefined;
  /** True if the default address leads to the built-in simulation. */
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

/** Returns the models in the options of a session. */
export function namedModels({
  model,
  fallback_model,
  agents,
}: Partial<Pick<ResolvedOptions, "model" | "fallback_model" | "agents">>): readonly string[] {
  const named = [model, fallback_model, ...Object.values(agents ?? {}).map((agent) => agent.model)];
  return named.flatMap((name) => (name && name !== "inherit" ? [name] : []));
}

/**
 * Returns environment variables that make Claude Code use one model for everything, such as titles, summaries and
 * subagents. Without them, Claude Code would also call models at the default address.
 */
export function onlyModelEnvironment(
  name: string,
  { lacks = [] }: Pick<BrokeredModel, "lacks">,
): Record<string, string> {
  const families = ["HAIKU", "SONNET", "OPUS", "FABLE"];
  return {
    ...Object.fromEntries(families.map((family) => [`ANTHROPIC_DEFAULT_${family}_MODEL`, name])),
    // Only Anthropic's servers accept unknown betas.
    CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS: "1",
    ...(lacks.includes("caching") && { DISABLE_PROMPT_CACHING: "1" }),
    ...(lacks.includes("thinking") && { MAX_THINKING_TOKENS: "0" }),
  };
}
