/** Files that import each other in a circle, including type imports. */
import { importsOf } from "./imports.ts";
import { type Finding, type SourceTree, productFiles } from "./source-tree.ts";

export function importCycles(tree: SourceTree): readonly Finding[] {
  const imports = importGraph(tree);
  return circles(imports).map((members) => {
    const circle = shortestCircle(members, imports);
    const [{ from, line } = { from: members[0] ?? "", line: 1 }] = circle;
    const way = [...circle.map((step) => step.from), from].join(" → ");
    return {
      file: from,
      line,
      sentence: `is in a circle of imports: ${way}. Put what both need into a file that imports neither.`,
    };
  });
}

type Graph = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** Maps each file to its imports, with their lines. */
function importGraph(tree: SourceTree): Graph {
  return new Map(
    productFiles(tree).map((file) => {
      const targets = new Map<string, number>();
      for (const { specifier, line } of importsOf(file)) {
        const target = tree.resolve(file.path, specifier);
        if (target !== undefined && !targets.has(target)) targets.set(target, line);
      }
      return [file.path, targets];
    }),
  );
}

/**
 * Finds groups of files that import each other in circles, with Tarjan's algorithm for strongly connected components. A
 * group can be a single file that imports itself.
 */
function circles(graph: Graph): readonly (readonly string[])[] {
  const found: string[][] = [];
  const numbers = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const onStack = new Set<string>();
  const visit = (node: string): void => {
    numbers.set(node, numbers.size);
    let low = numbers.size - 1;
    stack.push(node);
    onStack.add(node);
    for (const next of graph.get(node)?.keys() ?? []) {
      if (!numbers.has(next)) {
        visit(next);
        low = Math.min(low, lowest.get(next) ?? low);
      } else if (onStack.has(next)) low = Math.min(low, numbers.get(next) ?? low);
    }
    lowest.set(node, low);
    if (low !== numbers.get(node)) return;
    const members = stack.splice(stack.indexOf(node));
    for (const member of members) onStack.delete(member);
    if (members.length > 1 || graph.get(node)?.has(node)) found.push(members);
  };
  for (const node of graph.keys()) if (!numbers.has(node)) visit(node);
  return found;
}

interface Step {
  readonly from: string;
  readonly line: number;
}

/** Returns the shortest cycle through any member. */
function shortestCircle(members: readonly string[], graph: Graph): readonly Step[] {
  const among = new Set(members);
  const ways = members.flatMap((start) => {
    const way = wayBack(start, among, graph);
    return way ? [way] : [];
  });
  return ways.toSorted((a, b) => a.length - b.length)[0] ?? [];
}

function wayBack(start: string, among: ReadonlySet<string>, graph: Graph): readonly Step[] | undefined {
  const reached = new Map<string, readonly Step[]>([[start, []]]);
  const queue = [start];
  for (const from of queue)
    for (const [next, line] of graph.get(from) ?? []) {
      const way = [...(reached.get(from) ?? []), { from, line }];
      if (next === start) return way;
      if (!among.has(next) || reached.has(next)) continue;
      reached.set(next, way);
      queue.push(next);
    }
  return undefined;
}
