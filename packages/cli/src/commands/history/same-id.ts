import { agentsWithSession, getSummary, type LibraryConfig } from "@skein/history";
import { agentTitles } from "@skein/history/sources";
import { styledText } from "../../terminal/styled.ts";
import type { StyledScreen } from "../../terminal/styled-screen.ts";

/** Says which session an id means, if several agents have a session with this id. */
export async function noteSameId(word: number | string, library: LibraryConfig, screen: StyledScreen): Promise<void> {
  if (typeof word === "number") return;
  const agents = agentsWithSession(word, library);
  if (agents.length < 2) return;
  const { source } = await getSummary(word, library);
  const others = agents.filter((one) => one !== source);
  screen.note(
    styledText`${agents.length} agents have a session with this id. This is the session of ${agentTitles[source]}, which was active last. For another: ${others.map((one) => `--source ${one}`).join(" or ")}`,
  );
}
