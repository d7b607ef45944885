import { listTasks, listTodos, type TaskList, type TodoList } from "@skein/history";
import { historyCommand } from "./command.ts";
import { EXIT } from "../../terminal/exit-codes.ts";
import { pageOf } from "./page.ts";
import { type Paint, type Styled, styledText } from "../../terminal/styled.ts";
import { shortTime } from "../../terminal/times.ts";

export const todos = historyCommand({
  name: "history todos",
  summary: "Todo lists and tasks, and how much of them is done",
  shares: ["root", "limit", "offset", "json", "archive", "pager"],
  words: "[SESSION]",
  usesPager: true,
  options: { open: { about: "Only lists that have something left to do" } },
  examples: [
    ["skein history todos", "All lists that are not empty"],
    ["skein history todos 3f2a", "The lists of one session"],
    ["skein history todos --open --json", "Lists with open items, as JSON"],
  ],
  async run({ screen, values, words, library }) {
    const [wanted = ""] = words;
    const isOpen = (status: string): boolean => status !== "completed";
    const todoLists = (await listTodos(library)).filter(
      ({ sessionId, items, problem }) =>
        sessionId.startsWith(wanted) &&
        (problem !== null || items.length > 0) &&
        (!values.open || items.some(({ status }) => isOpen(status))),
    );
    const taskLists = (await listTasks(library)).filter(
      ({ listId, tasks, problems }) =>
        listId.startsWith(wanted) &&
        tasks.length + problems.length > 0 &&
        (!values.open || tasks.some(({ status }) => isOpen(status))),
    );
    const hasProblem =
      todoLists.some(({ problem }) => problem !== null) || taskLists.some(({ problems }) => problems.length > 0);
    if (values.json) await screen.json({ todos: pageOf(todoLists, library), tasks: pageOf(taskLists, library) });
    else if (todoLists.length + taskLists.length === 0) await screen.print(styledText`No todos and no tasks.`);
    else {
      const { data: shownTasks } = pageOf(taskLists, library);
      const { data: shownTodos } = pageOf(todoLists, library);
      await screen.print(
        ...shownTasks.flatMap((list) => taskLines(list, screen.paint)),
        ...shownTodos.flatMap((list) => todoLines(list, screen.paint)),
      );
    }
    return hasProblem ? EXIT.failed : EXIT.completed;
  },
});

function taskLines({ listId, tasks, problems }: TaskList, paint: Paint): readonly Styled[] {
  return [
    paint.bold(styledText`Tasks ${listId}`),
    ...tasks.map(({ id, subject, status, blockedBy = [] }) => {
      const waits = blockedBy.length === 0 ? "" : paint.dim(` (after ${blockedBy.join(", ")})`);
      return styledText`  ${box(status, paint)} ${id}. ${subject}${waits}`;
    }),
    ...problems.map(({ path, problem }) => paint.red(styledText`  ${path}: ${problem}`)),
    styledText``,
  ];
}

function todoLines({ sessionId, items, modifiedAt, problem, path }: TodoList, paint: Paint): readonly Styled[] {
  return [
    styledText`${paint.bold(styledText`Todos ${sessionId}`)} ${paint.dim(shortTime(modifiedAt))}`,
    ...items.map(({ content, status }) => styledText`  ${box(status, paint)} ${content}`),
    ...(problem === null ? [] : [paint.red(styledText`  ${path}: ${problem}`)]),
    styledText``,
  ];
}

function box(status: string, paint: Paint): Styled {
  if (status === "completed") return paint.green("☑");
  return status === "in_progress" ? paint.yellow("◐") : paint.dim("☐");
}
