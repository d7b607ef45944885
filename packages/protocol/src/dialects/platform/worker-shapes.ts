import { z } from "zod";
import { Uuid } from "../../ids.ts";

/** A process that drives sessions, with its runtimes, agents, tools, skills and model. */
export const ApiWorker = z.object({
  id: z.string(),
  runtimes: z.array(z.string()),
  agents: z.array(z.string()),
  tools: z.array(z.string()),
  skills: z.array(z.string()),
  model: z.string(),
});

/** Which worker drives a session, and which ones can. A session waits until some worker has everything that its agent needs. */
export const Placement = z.object({
  session_id: Uuid,
  waiting: z.boolean(),
  /** The worker that drives the session now; null while no run needs one. */
  worker: z.string().nullable(),
  /** The workers that have everything that the session needs. */
  workers: z.array(z.string()),
  /** What each of the other workers lacks. */
  lacking: z.array(z.object({ worker: z.string(), lacks: z.array(z.string()) })),
  /** The placement as one sentence. */
  detail: z.string(),
});

/** A session that no worker could drive. It sleeps until somebody retries or discards it. */
export const ApiParkedSession = z.object({
  session_id: Uuid,
  parked_at: z.string(),
  attempts: z.int(),
  problem: z.string(),
});
