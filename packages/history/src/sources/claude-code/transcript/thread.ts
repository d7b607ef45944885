/**
 * Determines which messages are on the active thread, which were rewound, and where the conversation branched.
 *
 * The messages are a tree by their `parentUuid`. A message with several children is a branch only if a person went back
 * and typed another prompt. Parallel tool results, hooks, progress lines and replays after a compaction give a message
 * several children too.
 */
import type { Branch, Message } from "../../../model/types.ts";

export interface Thread {
  readonly messages: readonly Message[];
  readonly branches: readonly Branch[];
}

/** Marks each message as active, compacted, or neither, and lists the real branches. */
export function thread(messages: readonly Message[]): Thread {
  const nodes = buildTree(messages);
  const branches: Branch[] = [];
  const rewound = new Set<Node>();
  for (const node of nodes) {
    if (node.children.length < 2) continue;
    const ways = realWays(node);
    if (ways.length < 2) continue;
    // The last branch in file order is the active one.
    for (const left of ways.slice(0, -1)) markBelow(left, rewound);
    branches.push({ atUuid: node.message.uuid, childUuids: ways.map((way) => way.message.uuid) });
  }
  for (const ways of beginnings(nodes)) {
    for (const left of ways.slice(0, -1)) markBelow(left, rewound);
    branches.unshift({ atUuid: null, childUuids: ways.map((way) => way.message.uuid) });
  }
  const compactedBefore = messages.findLastIndex(isCompactBoundary);
  const byMessage = new Map(nodes.map((node) => [node.message, node]));
  const marked = messages.map((message, at) => {
    const node = byMessage.get(message);
    const isRewound = node !== undefined && rewound.has(node);
    const isCompacted = at < compactedBefore && isChained(message) && !isRewound;
    const isActive = !isRewound && !message.isSidechain && !isCompacted;
    if (isActive === message.isActive && isCompacted === message.isCompacted) return message;
    return { ...message, isActive, isCompacted };
  });
  return { messages: marked, branches };
}

interface Node {
  readonly message: Message;
  readonly at: number;
  readonly children: Node[];
  parent: Node | undefined;
}

/** Makes one node per message with an id. A node with an unknown parent is a root, and cycles are removed. */
function buildTree(messages: readonly Message[]): readonly Node[] {
  const nodes: Node[] = [];
  const byUuid = new Map<string, Node>();
  messages.forEach((message, at) => {
    if (message.isSidechain || !isChained(message)) return;
    const node: Node = { message, at, children: [], parent: undefined };
    nodes.push(node);
    for (const uuid of uuidsOf(message)) if (!byUuid.has(uuid)) byUuid.set(uuid, node);
  });
  const parentOf = ({ message: { parentUuid } }: Node): Node | undefined =>
    parentUuid === null ? undefined : byUuid.get(parentUuid);
  // Links to earlier lines cannot form a cycle. The second loop adds links to later lines if they form no cycle.
  for (const node of nodes) {
    const parent = parentOf(node);
    if (parent && parent.at < node.at) node.parent = parent;
  }
  for (const node of nodes) {
    const parent = parentOf(node);
    if (parent && parent.at > node.at && !isAncestor(node, parent)) node.parent = parent;
  }
  for (const node of nodes) node.parent?.children.push(node);
  return nodes;
}

function isChained(message: Message): boolean {
  return typeof message.raw["uuid"] === "string";
}

/**
 * Returns the ids of a message. An answer has an id per line, and the next line may have any of these ids as its
 * parent.
 */
function uuidsOf(message: Message): readonly string[] {
  return message.role === "assistant" ? message.lineUuids : [message.uuid];
}

function isAncestor(node: Node, of: Node): boolean {
  for (let at: Node | undefined = of; at !== undefined; at = at.parent) if (at === node) return true;
  return false;
}

/**
 * Finds branches at the beginning of a session. If a person rewinds to the first prompt, two prompts have no parent.
 * Prompts of two sessions, or on two sides of a compaction, are not branches of each other.
 */
function beginnings(nodes: readonly Node[]): readonly (readonly Node[])[] {
  const groups = new Map<string, Node[]>();
  let compactions = 0;
  for (const node of nodes) {
    if (isCompactBoundary(node.message)) compactions += 1;
    if (node.message.raw["parentUuid"] !== null) continue;
    const key = `${compactions} ${String(node.message.raw["sessionId"])}`;
    const group = groups.get(key);
    if (group) group.push(node);
    else groups.set(key, [node]);
  }
  // If no prompt in a file has a parent, three or more prompts without a parent are not branches.
  const areLinked = nodes.some((node) => node.parent !== undefined && isPrompt(node.message));
  return [...groups.values()].map(promptWays).filter((ways) => ways.length === 2 || (ways.length > 2 && areLinked));
}

function isPrompt(message: Message): boolean {
  return message.type === "user" && message.role === "user" && message.humanPrompt !== null;
}

/** Returns the children that begin with a typed prompt, without replays of other children. */
function realWays(node: Node): readonly Node[] {
  const ways = promptWays(node.children);
  // If one child continues the answer and a later child is a prompt, a person rewound to this point.
  const only = ways.length === 1 ? ways[0] : undefined;
  const other = only && node.children.findLast((child) => child !== only && child.at < only.at && wentOn(child));
  return only && other ? [other, only] : ways;
}

/** The nodes among `starts` that begin with a prompt and are not replays. */
function promptWays(starts: readonly Node[]): readonly Node[] {
  const ways: Node[] = [];
  const times = new Set<number>();
  for (const child of starts) {
    // If two lines have the same time, the second one is a replay after a compaction.
    const time = child.message.timestamp.getTime();
    const isReplay = !child.message.timestampIsInferred && times.has(time);
    times.add(time);
    if (!isReplay && opensWithPrompt(child)) ways.push(child);
  }
  return ways;
}

/** Returns true if the model answered after this node. There is no answer after a parallel tool result or a hook. */
function wentOn(start: Node): boolean {
  const open = [start];
  for (let steps = 0; steps < 200; steps += 1) {
    const node = open.pop();
    if (!node) return false;
    if (node.message.type === "assistant") return node !== start || node.children.length > 0;
    open.push(...node.children);
  }
  return false;
}

/** Whether the branch begins with a prompt, perhaps after hooks and other lines of Claude Code. */
function opensWithPrompt(start: Node): boolean {
  let node: Node | undefined = start;
  for (let steps = 0; node !== undefined && steps < 50; steps += 1) {
    const { message } = node;
    if (message.type === "user") return isPrompt(message);
    if (message.type === "assistant") return false;
    node = node.children[0];
  }
  return false;
}

function markBelow(start: Node, marked: Set<Node>): void {
  const open = [start];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (marked.has(node)) continue;
    marked.add(node);
    open.push(...node.children);
  }
}

export function isCompactBoundary(message: Message): boolean {
  return message.type === "system" && message.raw["subtype"] === "compact_boundary";
}
