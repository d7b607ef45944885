import { z } from "zod";
import { Uuid } from "../../ids.ts";

/** A process that works on sessions, with its runtimes, agents, tools, skills and model. */
export const ApiWorker = z.object({
  id: z.string(),
  runtimes: z.array(z.string()),
  agents: z.array(z.string()),
  tools: z.array(z.string()),
  skills: z.array(z.string()),
  model: z.string(),
});

/**
 * Says which worker works on a session, and which workers can work on it. A session waits until a worker has everything
 * that the session's agent needs.
 */
export const Placement = z.object({
  session_id: Uuid,
  waiting: z.boolean(),
  /** The worker that works on the session now. Null if no run is in progress. */
  worker: z.string().nullable(),
  /** The workers that have everything that the session needs. */
  workers: z.array(z.string()),
  /** All other workers, with the things that they lack. */
  lacking: z.array(z.object({ worker: z.string(), lacks: z.array(z.string()) })),
  /** A sentence that describes the placement. */
  detail: z.string(),
});

/** A session that failed repeatedly. It sleeps until a person retries or discards it. */
export const ApiParkedSession = z.object({
  session_id: Uuid,
  parked_at: z.string(),
  attempts: z.int(),
  problem: z.string(),
});
