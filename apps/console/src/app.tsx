import type { Client } from "@skein/client";
import { QueryClientProvider } from "@tanstack/react-query";
import { useMemo } from "react";
import { Redirect, Route, Switch } from "wouter";
import { createApi } from "./api/api.ts";
import { ApiProvider, createQueries } from "./api/context.tsx";
import { HomePage } from "./pages/home-page.tsx";
import { LoginPage } from "./shell/login-page.tsx";
import { MissingPage } from "./shell/missing-page.tsx";
import { Shell } from "./shell/shell.tsx";
import { useLogin } from "./shell/use-login.ts";
import { loadedWhenShown } from "./ui/loaded-when-shown.tsx";

/** Placeholder while a page loads. */
const LOADING = <div className="top" aria-busy="true" />;

// Only the code for Home is loaded first; the code of every other page is loaded when it is opened.
const SessionsPage = loadedWhenShown(async () => (await import("./pages/sessions-page.tsx")).SessionsPage, LOADING);
const SessionPage = loadedWhenShown(async () => (await import("./pages/session-page.tsx")).SessionPage, LOADING);
const HistoryPage = loadedWhenShown(async () => (await import("./pages/history-page.tsx")).HistoryPage, LOADING);
const ContextPage = loadedWhenShown(async () => (await import("./pages/context-page.tsx")).ContextPage, LOADING);
const AgentsPage = loadedWhenShown(async () => (await import("./pages/agents-page.tsx")).AgentsPage, LOADING);
const AgentPage = loadedWhenShown(async () => (await import("./pages/agent-page.tsx")).AgentPage, LOADING);
const UsagePage = loadedWhenShown(async () => (await import("./pages/usage-page.tsx")).UsagePage, LOADING);
const SqlPage = loadedWhenShown(async () => (await import("./pages/sql-page.tsx")).SqlPage, LOADING);
const SettingsPage = loadedWhenShown(async () => (await import("./pages/settings-page.tsx")).SettingsPage, LOADING);

/** The console: the login, and the page for the current URL. */
export function App({ client, linkKey }: { client: Client; linkKey: string | undefined }) {
  const { isIn, problem, enter, leave, refused } = useLogin(client, linkKey);
  // Each login has a separate query client, because another key may see other data.
  const [api, queries] = useMemo(
    () => [createApi(client), createQueries(refused)] as const,
    // oxlint-disable-next-line exhaustive-deps -- created again with each login.
    [client, isIn],
  );
  if (isIn === undefined) return null;
  if (!isIn) return <LoginPage problem={problem} onKey={enter} />;

  return (
    <ApiProvider value={api}>
      <QueryClientProvider client={queries}>
        <Shell onLogOut={leave} onUnauthorized={refused}>
          <Switch>
            <Route path="/" component={HomePage} />
            <Route path="/sessions" component={SessionsPage} />
            <Route path="/sessions/:id/context">{({ id }) => <ContextPage key={id} id={id} />}</Route>
            <Route path="/sessions/:id">{({ id }) => <SessionPage key={id} id={id} />}</Route>
            <Route path="/history/:id">{({ id }) => <HistoryPage key={id} id={id} />}</Route>
            <Route path="/agents" component={AgentsPage} />
            <Route path="/agents/new">
              <Redirect to="/agents?new=1" replace />
            </Route>
            <Route path="/agents/:id">{({ id }) => <AgentPage key={id} id={id} />}</Route>
            <Route path="/usage" component={UsagePage} />
            <Route path="/sql" component={SqlPage} />
            <Route path="/settings/*?">
              {({ "*": part = "" }) => <SettingsPage path={part === "" ? "" : `/${part}`} onLogOut={leave} />}
            </Route>
            <Route component={MissingPage} />
          </Switch>
        </Shell>
      </QueryClientProvider>
    </ApiProvider>
  );
}
