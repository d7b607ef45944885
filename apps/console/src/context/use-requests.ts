import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Sent } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import type { Step } from "../session/view.ts";
import { type SentBlock, blocksOfRequest, compared, pricedBlocks } from "./blocks.ts";

interface RequestsOptions {
  readonly id: string;
  readonly step: Step | undefined;
  readonly before: Step | undefined;
  /** The attempt of the step. The default is the last attempt. */
  readonly attempt: number | null;
}

interface Requests {
  /** The request of each attempt, in order. */
  readonly attempts: readonly Sent[];
  readonly sent: Sent | undefined;
  readonly blocks: readonly SentBlock[];
  readonly isLoading: boolean;
  readonly error: unknown;
}

/**
 * Returns the requests of a step and the parts of the chosen request. The parts are compared with the last request of
 * the previous step.
 */
export function useRequests({ id, step, before, attempt }: RequestsOptions): Requests {
  const now = useRequestsOf(id, step);
  const old = useRequestsOf(id, before);
  const attempts = now.data ?? [];
  const sent = attempts.find((one) => one.attempt === attempt) ?? attempts.at(-1);
  const sentBefore = old.data?.at(-1);
  const blocks = useMemo(() => {
    if (!sent || !step) return [];
    const rates = ratesOf(step);
    const present = pricedBlocks(blocksOfRequest(sent), step.usage, rates);
    const past = sentBefore && before ? pricedBlocks(blocksOfRequest(sentBefore), before.usage, rates) : undefined;
    return compared(present, past);
  }, [sent, sentBefore, step, before]);
  return { attempts, sent, blocks, isLoading: now.isLoading, error: now.error };
}

function useRequestsOf(id: string, step: Step | undefined) {
  const api = useApi();
  return useQuery({
    queryKey: ["sent", id, step?.key, step?.attempt],
    queryFn: async (): Promise<readonly Sent[]> => {
      if (!step) return [];
      const all = await api.sentAt(id, step.runId, step.number);
      const own = all.filter(({ purpose }) => purpose === step.purpose);
      if (all.length === 0)
        throw new Error(
          "The log has no request for this step. Claude Code makes its own requests, which the log does not contain.",
        );
      return own.length > 0 ? own : all;
    },
    enabled: step !== undefined,
  });
}

/** Computes the price of a token in millionths of a dollar from the cost of the step. */
function ratesOf({ usage, cost }: Step): { read: number; written: number; input: number } {
  const per = (micros: number, tokens: number | null | undefined): number => (tokens ? micros / tokens : 0);
  return {
    read: per(cost?.cache_read_micros ?? 0, usage?.cache_read_input_tokens),
    written: per(cost?.cache_write_micros ?? 0, usage?.cache_creation_input_tokens),
    input: per(cost?.input_micros ?? 0, usage?.input_tokens),
  };
}
