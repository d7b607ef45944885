import {
  activeMessages,
  exportSession,
  getAgentSession,
  getSession,
  type AgentSession,
  type Session,
} from "@skein/history";
import { agentTitles, speakerOf } from "@skein/history/sources";
import { historyCommand } from "./command.ts";
import { EXIT, UsageError } from "../../terminal/exit-codes.ts";
import { OUTPUT_OPTIONS } from "../../terminal/shared-options.ts";
import { noteSameId } from "./same-id.ts";
import { SESSION_OPTIONS, sessionWord } from "./options.ts";
import { showOriginal } from "./original.ts";
import type { StyledScreen } from "../../terminal/styled-screen.ts";
import { type Styled, joined, styledText, wrap } from "../../terminal/styled.ts";
import { count, counted } from "../../terminal/counts.ts";
import { duration, shortTime } from "../../terminal/times.ts";
import { shorten } from "../../terminal/width.ts";
import { shortModel } from "./short-names.ts";
import { transcriptLines } from "./transcript-view.ts";
import { createPrivateFile } from "../../terminal/private-file.ts";
import { refuseDataFolder } from "./refuse-data-folder.ts";

export const show = historyCommand({
  name: "history show",
  summary: "Read one session or one subagent (agent-<id>)",
  lines: "as-needed",
  shares: [...SESSION_OPTIONS, "source", "archive", "pager"],
  words: "SESSION",
  usesPager: true,
  options: {
    all: {
      short: "a",
      about: "Show every line, with compacted and rewound messages, metadata, unknown and damaged lines",
    },
    full: { about: "Whole inputs, results and thoughts" },
    original: {
      takes: "LINE",
      about: "Only the line or message with this line number or uuid, as its agent wrote it",
    },
    ...OUTPUT_OPTIONS,
    output: { ...OUTPUT_OPTIONS.output, about: "Write the session to this file as one HTML page" },
  },
  examples: [
    ["skein history show 0", "The newest session"],
    ["skein history show 3f2a --all --full", "Everything of the session whose id begins with 3f2a"],
    ["skein history show 0 --original 12", "Line 12 of the newest session, as its agent wrote it"],
    ["skein history show 0 --output session.html", "A page to share"],
    ["skein history show agent-a1b2c3", "What a subagent did"],
  ],
  async run({ screen, values, words, library }) {
    const [word] = words;
    const config = { ...library, activeOnly: !values.all };
    if (word !== undefined) await noteSameId(sessionWord(word), library, screen);
    const { original: line } = values;
    if (line !== undefined) {
      if (values.output !== undefined) throw new UsageError("--output writes a whole session: leave out --original.");
      return await showOriginal({ session: word, line, library }, screen, values.json);
    }
    if (values.output !== undefined) {
      refuseDataFolder(values.output, library);
      const page = await exportSession(sessionWord(word), "html", { ...config, includeAgents: true });
      createPrivateFile(values.output, page, values.force);
      screen.note(styledText`Wrote ${values.output}`);
      return EXIT.completed;
    }
    if (word?.startsWith("agent-")) return await showAgent(await getAgentSession(word, library), { screen, values });
    const whole = await getSession(sessionWord(word), library);
    const session = values.all ? whole : { ...whole, messages: activeMessages(whole.messages) };
    if (values.json) await screen.json(session);
    else {
      await screen.print(...header(session, screen));
      await printAll(
        screen,
        transcriptLines(session, {
          ...screen,
          isFull: values.full,
          isAll: values.all,
          speaker: speakerOf(session.source),
          hiddenCount: compactedCount(whole) - compactedCount(session),
          title: session.summary,
        }),
      );
      await screen.print(...footer(session, screen, values.all));
    }
    return session.damage.length === 0 ? EXIT.completed : EXIT.failed;
  },
});

/** Counts the prompts, answers and results that a compaction replaced. */
function compactedCount({ messages }: Session): number {
  return messages.filter(({ isCompacted, role }) => isCompacted && role !== undefined).length;
}

/** Prints the lines in batches, so that the first page appears immediately. */
async function printAll(screen: StyledScreen, lines: Iterable<Styled>): Promise<void> {
  let batch: Styled[] = [];
  for (const line of lines) {
    batch.push(line);
    if (batch.length < 500) continue;
    if (screen.isClosed) return;
    await screen.print(...batch);
    batch = [];
  }
  await screen.print(...batch);
}

function header(session: Session, { paint, columns }: StyledScreen): readonly Styled[] {
  const models = new Set(
    session.messages.flatMap((message) =>
      message.role === "assistant" && message.model.startsWith("claude") ? [shortModel(message.model)] : [],
    ),
  );
  const details = [
    session.projectPath,
    session.gitBranch ?? "",
    `${shortTime(session.timestamp)} to ${shortTime(session.lastActivityAt)}`,
    counted(session.messageCount, "message"),
    [...models].join(", "),
    `${agentTitles[session.source]} ${session.version}`.trim(),
    session.isArchived ? "only in the archive" : "",
  ].filter((fact) => fact !== "");
  return [
    ...wrap(session.summary ?? "(no title)", columns).map(paint.bold),
    paint.dim(session.id),
    ...wrap(details.join(" · "), columns).map(paint.dim),
  ];
}

function footer(session: Session, { paint }: StyledScreen, isAll: boolean): readonly Styled[] {
  const lines: Styled[] = [];
  if (session.branches.length > 0 && !isAll)
    lines.push(
      paint.dim(
        styledText`${counted(session.branches.length, "rewind")}: --all shows the messages before each rewind.`,
      ),
    );
  for (const agent of session.agents.filter(({ toolUseId }) => toolUseId === null)) {
    lines.push(paint.dim(styledText`A subagent whose call is not recorded: skein history show agent-${agent.agentId}`));
  }
  for (const { line, kind, message, text } of isAll ? session.damage : session.damage.slice(0, 20)) {
    lines.push(paint.red(styledText`Damaged line ${line}: ${kind}, ${message}`));
    if (isAll && text !== undefined) lines.push(paint.dim(styledText`  ${shorten(text, 1000)}`));
  }
  if (session.damage.length > 20 && !isAll)
    lines.push(paint.red(styledText`… and ${session.damage.length - 20} more damaged lines: skein history verify`));
  return lines.length === 0 ? [] : [styledText``, ...lines];
}

async function showAgent(
  agent: AgentSession,
  {
    screen,
    values,
  }: {
    readonly screen: StyledScreen;
    readonly values: { readonly json: boolean; readonly full: boolean; readonly all: boolean };
  },
): Promise<number> {
  if (values.json) await screen.json(agent);
  else {
    const { paint } = screen;
    const details = [
      shortModel(agent.model),
      duration(agent.totalDurationMs),
      `${count(agent.totalTokens)} tokens`,
      counted(agent.totalToolUseCount, "tool call"),
    ];
    await screen.print(
      paint.bold(
        styledText`Subagent ${agent.agentType ?? agent.agentId}${agent.description === null ? "" : `: ${agent.description}`}`,
      ),
      paint.dim(styledText`agent-${agent.agentId} of session ${agent.parentSessionId}`),
      paint.dim(joined(details, " · ")),
    );
    // A subagent's file marks all messages as side messages. This view shows them as the conversation.
    const messages = agent.messages.map((message) => ({ ...message, isSidechain: false, isActive: true }));
    await printAll(
      screen,
      transcriptLines(
        { messages, agents: [] },
        { ...screen, isFull: values.full, isAll: values.all, speaker: "Subagent", hiddenCount: 0, title: null },
      ),
    );
  }
  return agent.damage.length === 0 ? EXIT.completed : EXIT.failed;
}
