import { KnownError } from "@skein/protocol";
import type { Handlers, RequestContext } from "../../request-context.ts";
import type { HistoryChange, HistoryName, HistoryPort } from "../../history-port.ts";
import { ApiError } from "../../http/api-error.ts";
import { savedFile } from "../../http/saved-file.ts";
import { OPERATOR, type Principal, allows } from "../../keys.ts";
import type { StreamEnd } from "../../streams/open-streams.ts";
import { answerWithStream } from "../../streams/stream-answer.ts";
import { folderFor } from "../claude/adopt.ts";
import { storeClaudeAgent } from "../claude/built-in-agent.ts";
import { sessionText } from "./sessions.ts";

/** Returns why this key may not read the sessions of coding agents, or null if it may. */
export function historyRefusal(history: HistoryPort | undefined, principal: Principal): string | null {
  if (!history)
    return "This server does not show the sessions of coding agents. To show them, set SKEIN_HISTORY to their folders.";
  const isNamed = allows(principal, "admin") || history.keys.includes(principal.name);
  if (principal.tenant === OPERATOR && isNamed) return null;
  return "Only admin keys of the operator, and keys that SKEIN_HISTORY_KEYS names, may read the sessions of coding agents.";
}

/** Routes for the sessions in the files of Claude Code and other coding agents. */
export const historyHandlers = {
  listHistorySessions: async ({ query }, call) => ({ checked: await historyOf(call).list(query, goneOf(call)) }),
  async getHistorySession(input, call) {
    const text = await historyWith(call).get(nameIn(input), goneOf(call));
    const isAdopted = await call.sessions.get(input.params.session_id).then(
      () => true,
      () => false,
    );
    // The history port returns JSON text without `is_adopted`, because only the store knows whether the session was
    // adopted.
    return { checked: `${text.slice(0, -1)},"is_adopted":${isAdopted}}` };
  },
  listHistoryMessages: async (input, call) => ({
    checked: await historyWith(call).messages(nameIn(input), input.query, goneOf(call)),
  }),
  async getHistoryLine(input, call) {
    const { offset } = input.params;
    const line = await historyWith(call).line(nameIn(input), { offset, ...input.query }, goneOf(call));
    return savedFile(line, `line-${offset}.json`);
  },
  searchHistory: async ({ query }, call) => ({ checked: await historyOf(call).search(query, goneOf(call)) }),
  getHistoryUsage: async ({ query }, call) => ({ checked: await historyOf(call).usage(query, goneOf(call)) }),
  listHistoryFiles: async (input, call) => ({
    checked: await historyWith(call).files(nameIn(input), goneOf(call)),
  }),
  async getHistoryFile(input, call) {
    const name = input.query.path.toWellFormed().split(/[\\/]/).at(-1) ?? "";
    return savedFile(await historyWith(call).file(nameIn(input), input.query, goneOf(call)), name);
  },
  async exportHistorySession(input, call) {
    const { format } = input.query;
    const ending = { html: "html", markdown: "md", json: "json" }[format];
    return savedFile(
      await historyWith(call).export(nameIn(input), format, goneOf(call)),
      `session-${input.params.session_id.slice(0, 36)}.${ending}`,
    );
  },
  async adoptHistorySession(input, call) {
    const history = historyWith(call);
    call.shared.meter.session(call.principal.keyId);
    await storeClaudeAgent(call);
    const { tenant } = call.principal;
    return { checked: sessionText(await history.adopt(nameIn(input), { tenant, folderFor: folderFor(call) })) };
  },
  async streamHistory(_, call) {
    const history = historyOf(call);
    return answerWithStream(call, () => ({
      async send(sse) {
        const waiting = new Map<string, HistoryChange>();
        let wake = (): void => {};
        const end = history.watch((change) => {
          waiting.set(change.session_id, change);
          wake();
        });
        sse.signal.addEventListener("abort", () => wake(), { once: true });
        try {
          await sse.send("event: stream.opened\ndata: {}\n\n");
          while (!sse.signal.aborted) {
            for (const [id, change] of waiting) {
              waiting.delete(id);
              if (!(await sse.send(`event: history.changed\ndata: ${JSON.stringify(change)}\n\n`))) break;
            }
            await new Promise<void>((resolve) => {
              wake = resolve;
              if (sse.signal.aborted || waiting.size > 0) resolve();
            });
          }
        } finally {
          end();
        }
        return closing("shutdown");
      },
      closing,
    }));
  },
} satisfies Partial<Handlers>;

function historyOf({ shared, principal }: RequestContext): HistoryPort {
  const { history } = shared.deps;
  const refusal = historyRefusal(history, principal);
  if (!history || refusal !== null) throw new ApiError("forbidden", refusal ?? "");
  return history;
}

interface NamedInput {
  readonly params: { readonly session_id: string };
  readonly query: { readonly source?: string | undefined };
}

function nameIn({ params, query }: NamedInput): HistoryName {
  return { id: params.session_id, source: query.source };
}

/** Returns the history port for one session. For a caller who may not read the history, the session does not exist. */
function historyWith(call: RequestContext): HistoryPort {
  const { history } = call.shared.deps;
  if (!history || historyRefusal(history, call.principal) !== null)
    throw new KnownError("not_found", "There is no such session.");
  return history;
}

/** Returns a signal that aborts when the client disconnects. */
function goneOf({ reply }: RequestContext): AbortSignal {
  const gone = new AbortController();
  reply.raw.once("close", () => gone.abort(new KnownError("closed", "The client has disconnected.")));
  return gone.signal;
}

function closing(reason: StreamEnd): string {
  return `event: stream.closing\ndata: ${JSON.stringify({ reason })}\n\n`;
}
