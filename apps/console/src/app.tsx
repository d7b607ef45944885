import type { Client } from "@skein/client";
import { QueryClientProvider } from "@tanstack/react-query";
import { lazy, Suspense, useMemo } from "react";
import { Route, Switch } from "wouter";
import { createApi } from "./api/api.ts";
import { ApiProvider, createQueries } from "./api/context.tsx";
import { HomePage } from "./pages/home-page.tsx";
import { LoginPage } from "./shell/login-page.tsx";
import { MissingPage } from "./shell/missing-page.tsx";
import { Shell } from "./shell/shell.tsx";
import { useLogin } from "./shell/use-login.ts";

// Only what Home needs is loaded first; every other page comes when it is opened.
const SessionsPage = lazy(async () => ({ default: (await import("./pages/sessions-page.tsx")).SessionsPage }));
const SessionPage = lazy(async () => ({ default: (await import("./pages/session-page.tsx")).SessionPage }));
const HistoryPage = lazy(async () => ({ default: (await import("./pages/history-page.tsx")).HistoryPage }));
const ContextPage = lazy(async () => ({ default: (await import("./pages/context-page.tsx")).ContextPage }));
const AgentsPage = lazy(async () => ({ default: (await import("./pages/agents-page.tsx")).AgentsPage }));
const AgentPage = lazy(async () => ({ default: (await import("./pages/agent-page.tsx")).AgentPage }));
const UsagePage = lazy(async () => ({ default: (await import("./pages/usage-page.tsx")).UsagePage }));
const SqlPage = lazy(async () => ({ default: (await import("./pages/sql-page.tsx")).SqlPage }));
const SettingsPage = lazy(async () => ({ default: (await import("./pages/settings-page.tsx")).SettingsPage }));

/** The console: who calls, and the page that the address names. */
export function App({ client, linkKey }: { client: Client; linkKey: string | undefined }) {
  const { isIn, problem, enter, leave, refused } = useLogin(client, linkKey);
  // A login of its own for each: what one key saw, the next one may not see.
  const [api, queries] = useMemo(
    () => [createApi(client), createQueries(refused)] as const,
    // oxlint-disable-next-line exhaustive-deps -- made anew with each login.
    [client, isIn],
  );
  if (isIn === undefined) return null;
  if (!isIn) return <LoginPage problem={problem} onKey={enter} />;

  return (
    <ApiProvider value={api}>
      <QueryClientProvider client={queries}>
        <Shell onLogOut={leave} onUnauthorized={refused}>
          <Suspense fallback={<div className="top" aria-busy="true" />}>
            <Switch>
              <Route path="/" component={HomePage} />
              <Route path="/sessions" component={SessionsPage} />
              <Route path="/sessions/:id/context">{({ id }) => <ContextPage key={id} id={id} />}</Route>
              <Route path="/sessions/:id">{({ id }) => <SessionPage key={id} id={id} />}</Route>
              <Route path="/history/:id">{({ id }) => <HistoryPage key={id} id={id} />}</Route>
              <Route path="/agents" component={AgentsPage} />
              <Route path="/agents/:id">{({ id }) => <AgentPage key={id} id={id} />}</Route>
              <Route path="/usage" component={UsagePage} />
              <Route path="/sql" component={SqlPage} />
              <Route path="/settings/*?">
                {({ "*": part = "" }) => <SettingsPage path={part === "" ? "" : `/${part}`} onLogOut={leave} />}
              </Route>
              <Route component={MissingPage} />
            </Switch>
          </Suspense>
        </Shell>
      </QueryClientProvider>
    </ApiProvider>
  );
}
