import { getAgentSession, getSession, readOriginal, type LibraryConfig, type MessageOriginal } from "@skein/history";
import { EXIT, MissingError } from "../../terminal/exit-codes.ts";
import type { StyledScreen } from "../../terminal/styled-screen.ts";
import { styledText } from "../../terminal/styled.ts";
import { sessionWord } from "./options.ts";

interface ShowOriginal {
  readonly session: string | undefined;
  /** The number of a line, or the uuid of a message. */
  readonly line: string;
  readonly library: LibraryConfig;
}

/** Prints a message as its agent stored it: a line, a part of a document or a row. Prints the place to stderr. */
export async function showOriginal(asked: ShowOriginal, screen: StyledScreen, isJson: boolean): Promise<number> {
  const { id, lineNumber, original } = await findOriginal(asked);
  const { path, place, text } = original;
  if (text === undefined)
    throw new MissingError(`The agent's record of line ${lineNumber} no longer exists. It was ${place} in ${path}.`);
  if (isJson) await screen.json({ session: id, line: lineNumber, path, place, text });
  else {
    screen.note(styledText`${path}, ${place}`);
    await screen.print(...text.split("\n").map((line) => styledText`${line}`));
  }
  return EXIT.completed;
}

interface FoundOriginal {
  readonly id: string;
  readonly lineNumber: number;
  readonly original: MessageOriginal;
}

/** Finds a line or a message as its agent stored it. The text is undefined if it no longer exists. */
export async function findOriginal({ session: word, line, library }: ShowOriginal): Promise<FoundOriginal> {
  const isAgent = word?.startsWith("agent-") ?? false;
  const found = isAgent ? await agentWithPath(word ?? "", library) : await getSession(sessionWord(word), library);
  const lines = found.messages.flatMap((message) => [
    { uuid: message.uuid, raw: message.raw, lineNumber: message.lineNumber },
    ...(message.role === "assistant" ? (message.moreLines ?? []) : []).map((more) => ({
      ...more,
      uuid: String(more.raw["uuid"]),
    })),
  ]);
  const chosen = [...lines, ...found.damage.map((damage) => ({ uuid: "", lineNumber: damage.line }))].find(
    ({ uuid, lineNumber }) => (/^\d+$/.test(line) ? lineNumber === Number(line) : uuid === line),
  );
  if (!chosen)
    throw new MissingError(
      `Session ${found.id} has no line or message "${line}". --original takes the number of a line (see "skein history search") or the uuid of a message (see "skein history show --json").`,
    );
  return { id: found.id, lineNumber: chosen.lineNumber, original: readOriginal(found, chosen) };
}

/** Finds a subagent and the file with its messages. Without a file, its messages are in the file of its session. */
async function agentWithPath(word: string, library: LibraryConfig) {
  const agent = await getAgentSession(word, library);
  const path = agent.path ?? (await getSession(agent.parentSessionId, library)).path;
  return { id: `agent-${agent.agentId}`, path, messages: agent.messages, damage: agent.damage };
}
