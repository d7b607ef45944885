import { useQuery } from "@tanstack/react-query";
import { useMemo, useRef, useState } from "react";
import { sentenceOf } from "../api/api.ts";
import type { SqlAnswer } from "../api/sql.ts";
import { useApi } from "../api/context.tsx";
import { QUESTIONS } from "../sql/questions.ts";
import { SqlResult } from "../sql/sql-result.tsx";
import { SqlTree } from "../sql/sql-tree.tsx";
import { tablesOf } from "../sql/tables.ts";
import { useQuestionList } from "../sql/use-question-list.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { Icon } from "../ui/icon.tsx";
import { isMac } from "../ui/is-mac.ts";
import { loadedWhenShown } from "../ui/loaded-when-shown.tsx";
import { Nothing } from "../ui/empty-state.tsx";
import { useQueryValue } from "../ui/use-query-value.ts";
import { useKeys } from "../ui/use-keys.ts";
import { usePageTitle } from "../ui/use-page-title.ts";

const SqlEditor = loadedWhenShown(
  async () => (await import("../sql/sql-editor.tsx")).SqlEditor,
  <div className="ed" />,
);

/** SQL queries over the sessions that the API key may see. Each query has its own URL. */
export function SqlPage() {
  usePageTitle("SQL");
  const api = useApi();
  const [asked, setAsked] = useQueryValue("q");
  const [text, setText] = useState(asked ?? QUESTIONS[0]?.sql ?? "");
  const [answer, setAnswer] = useState<SqlAnswer>();
  const [problem, setProblem] = useState<string>();
  const [isRunning, setRunning] = useState(false);
  const list = useQuestionList();
  const stop = useRef<AbortController>(null);
  const schema = useQuery({
    queryKey: ["sql", "schema"],
    queryFn: () => api.sqlTables(),
    staleTime: Infinity,
  });
  const examples = useQuery({ queryKey: ["sql", "examples"], queryFn: () => api.sqlExamples(), staleTime: Infinity });
  const tables = useMemo(() => tablesOf(schema.data), [schema.data]);

  async function run(statement = text): Promise<void> {
    stop.current?.abort();
    const controller = new AbortController();
    stop.current = controller;
    list.close();
    setRunning(true);
    setProblem(undefined);
    setAsked(statement);
    try {
      setAnswer(await api.sql(statement, controller.signal));
    } catch (error) {
      if (!controller.signal.aborted) setProblem(sentenceOf(error));
    } finally {
      if (stop.current === controller) setRunning(false);
    }
  }
  useKeys({ "mod+Enter": () => void run() });
  const choose = (statement: string): void => {
    setText(statement);
    void run(statement);
  };
  const insert = (name: string): void => {
    list.close();
    setText(`${text.replace(/\s*$/, "")} ${name}`);
  };

  return (
    <>
      <header className="top">
        <h1>SQL</h1>
        <span className="faint desk-only cut">Read-only, over the sessions that this key may see</span>
        <span className="grow" />
        <button
          ref={list.opener}
          type="button"
          className="btn phone-only"
          aria-expanded={list.isOpen}
          aria-controls="sql-tree"
          onClick={list.toggle}
        >
          Questions
        </button>
        <CopyButton text={linkTo(text)} label="Copy a link to this query" />
        <button type="button" className="btn solid" disabled={isRunning} onClick={() => void run()}>
          <Icon name="play" small />
          {isRunning ? "Running…" : "Run"} <kbd>{isMac() ? "⌘↵" : "Ctrl ↵"}</kbd>
        </button>
      </header>
      <div className="sql">
        <SqlTree
          tables={tables}
          examples={examples.data ?? []}
          chosen={text}
          isOpen={list.isOpen}
          onQuestion={choose}
          onName={insert}
          onClose={list.leave}
        />
        <div className="sql-main">
          <SqlEditor value={text} tables={tables.names} onChange={setText} onRun={() => void run()} />
          {problem !== undefined ? (
            <pre className="sql-problem" role="alert">
              {problem}
            </pre>
          ) : answer ? (
            <SqlResult answer={answer} />
          ) : schema.isError ? (
            <Nothing title="SQL is not available here" state="failed">
              {sentenceOf(schema.error)}
            </Nothing>
          ) : (
            <Nothing
              title={isRunning ? "Running" : schema.isLoading ? "Reading the tables" : "Ask something"}
              state={isRunning || schema.isLoading ? "running" : "idle"}
            >
              {isRunning || schema.isLoading
                ? "The first query after the server starts takes a few seconds."
                : "Run the query above, or write your own."}
            </Nothing>
          )}
        </div>
      </div>
    </>
  );
}

function linkTo(statement: string): string {
  return `${location.origin}/sql?q=${encodeURIComponent(statement)}`;
}
