/**
 * Checks that every `tool_use` has exactly one `tool_result`, at the beginning of the next user turn, and that every
 * result of a server tool comes after its `server_tool_use`.
 *
 * Consecutive messages of one role are one turn, as in the API. Entries of the role `system` belong to no turn.
 */
import { invalid } from "./api-error.ts";
import { blocksOf, type Block, type Message } from "./wire.ts";

export function checkPairs(messages: readonly Message[]): void {
  const check = pairCheck();
  for (const [index, message] of messages.entries()) {
    if (message.role === "system") continue;
    check.enter(message.role);
    for (const [place, block] of blocksOf(message.content).entries()) {
      if (message.role === "assistant") check.assistantBlock(block, index, place);
      if (message.role === "user") check.userBlock(block, index, place);
    }
  }
  check.end();
}

interface PairCheck {
  enter(role: "user" | "assistant"): void;
  assistantBlock(block: Block, index: number, place: number): void;
  userBlock(block: Block, index: number, place: number): void;
  end(): void;
}

function pairCheck(): PairCheck {
  const uses = new Set<string>();
  /** The ids of `tool_use` blocks without a result so far, each with the index of its message. */
  const open = new Map<string, number>();
  const openOnServer = new Map<string, { readonly name: string; readonly index: number }>();
  const usesOnServer = new Set<string>();
  let role: "user" | "assistant" = "user";
  let answeredInTurn = new Set<string>();
  let turnHasOtherContent = false;

  function leaveUserTurn(): void {
    checkNothingOpen();
    // The result of a server tool may come after results of client tools. But it must come before a new prompt.
    if (answeredInTurn.size > 0) return;
    for (const [id, { name, index }] of openOnServer) {
      throw invalid(
        `messages.${index}`,
        `\`${name}\` tool use with id \`${id}\` was found without a corresponding \`${name}_tool_result\` block`,
      );
    }
  }

  function checkNothingOpen(): void {
    for (const index of open.values()) {
      const ids = [...open.keys()].filter((id) => open.get(id) === index).join(", ");
      throw invalid(
        `messages.${index}`,
        `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      );
    }
  }

  return {
    enter(next) {
      if (next === role) return;
      if (role === "user") leaveUserTurn();
      role = next;
      answeredInTurn = new Set();
      turnHasOtherContent = false;
    },
    assistantBlock(block, index, place) {
      const id = block.id as string;
      if (block.type === "tool_use") {
        if (uses.has(id)) throw invalid("messages", "`tool_use` ids must be unique");
        uses.add(id);
        open.set(id, index);
      }
      if (block.type === "server_tool_use") {
        usesOnServer.add(id);
        openOnServer.set(id, { name: String(block.name), index });
      }
      const answers = block.tool_use_id;
      if (typeof answers !== "string" || !block.type.endsWith("_tool_result")) return;
      openOnServer.delete(answers);
      if (usesOnServer.has(answers) || block.type.startsWith("mcp_")) return;
      throw invalid(
        `messages.${index}.content.${place}`,
        `unexpected \`tool_use_id\` found in \`${block.type}\` blocks: ${answers}. Each \`${block.type}\` block must have a corresponding \`server_tool_use\` block before it.`,
      );
    },
    userBlock(block, index, place) {
      if (block.type !== "tool_result") {
        turnHasOtherContent = true;
        return;
      }
      const id = block.tool_use_id as string;
      const where = `messages.${index}.content.${place}`;
      if (answeredInTurn.has(id)) {
        throw invalid(
          where,
          `each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
        );
      }
      if (!open.has(id)) {
        throw invalid(
          where,
          `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
        );
      }
      // The API says "immediately after", so no result may come after other content.
      if (turnHasOtherContent) checkNothingOpen();
      answeredInTurn.add(id);
      open.delete(id);
    },
    end() {
      if (role === "user") leaveUserTurn();
      checkNothingOpen();
    },
  };
}
