import { type Store, claudeAgent, displayText, foldAll, sessionCreated, snapshotOf } from "@skein/core";
import { ClaudeOptions, type Fact, type Ids, KnownError, type Session, createIds, isKnownError } from "@skein/protocol";
import { adoptedFacts } from "./adopted-facts.ts";
import type { ClaudeSession } from "./claude-session.ts";

export interface AdoptDeps {
  readonly store: Store;
  readonly tenant: string;
  /** The working folder of the adopted session. Default: the folder in which Claude Code worked. */
  readonly folder?: string | null;
  readonly ids?: Ids;
}

/**
 * Makes a Skein session from a session of Claude Code, under the same id, in one append. Does not change Claude Code's
 * files. Does not copy permissions: the new session has the default permissions.
 */
export async function adopt(
  session: ClaudeSession,
  { store, tenant, folder = session.cwd, ids = createIds() }: AdoptDeps,
): Promise<Session> {
  const facts = [createdFact(session, { tenant, folder }), ...adoptedFacts(session, ids)];
  try {
    const { events } = await store.append(
      session.id,
      facts.map((fact) => ({ ...fact, id: ids() })),
      { expect: 0 },
    );
    // Without the snapshot, the first reader is slower, so an error is ignored.
    await store.writeSnapshot(session.id, snapshotOf(foldAll(session.id, events))).catch(() => {});
  } catch (error) {
    if (!isKnownError(error, "conflict")) throw error;
    throw new KnownError("already_exists", `Session ${session.id} was adopted before. Fork it, or delete it first.`);
  }
  const adopted = await store.get(session.id, { tenant });
  if (!adopted) throw new KnownError("not_found", `Session ${session.id} was deleted while it was adopted.`);
  return adopted;
}

function createdFact(session: ClaudeSession, to: { tenant: string; folder: string | null }): Fact {
  const { title, version, gitBranch, startedAt, lastActivityAt, lines } = session;
  const entries = lines.flatMap(({ entry }) => (entry ? [entry] : []));
  const last = (type: string, field: string): unknown => entries.findLast((entry) => entry["type"] === type)?.[field];
  const tag = last("tag", "tag");
  const folder = to.folder !== null && to.folder.length <= 500 ? displayText(to.folder) : null;
  // In a terminal, a session has Claude Code's system prompt. The SDK adds this prompt only on request.
  const isTyped = entries.some(({ entrypoint }) => entrypoint === "cli");
  const agent = claudeAgent(ClaudeOptions.parse({ cwd: folder, ...(isTyped && { system_prompt_append: "" }) }));
  return sessionCreated({
    tenant: to.tenant,
    agent_id: agent.id,
    agent_version: agent.version,
    agent: agent.config,
    title: title === null ? null : displayText(title).slice(0, 255),
    tags: typeof tag === "string" && tag !== "" ? [displayText(tag).slice(0, 100)] : [],
    working_directory: folder,
    metadata: {
      claude_code: {
        version,
        git_branch: gitBranch,
        started_at: startedAt.toISOString(),
        last_activity_at: lastActivityAt.toISOString(),
      },
    },
  });
}
