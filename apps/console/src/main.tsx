// oxlint-disable-next-line import/no-unassigned-import -- it must come before every module that creates a schema.
import "./without-eval.ts";
import { createClient } from "@skein/client";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
// oxlint-disable-next-line import/no-unassigned-import -- a style has nothing to import.
import "./styles/index.css";
import { watchedFetch } from "./api/connection.ts";
import { takeKey } from "./api/login.ts";
import { App } from "./app.tsx";
import { applyTheme, chosenTheme } from "./shell/theme.ts";

applyTheme(chosenTheme());
// The browser's cookie authenticates the requests.
const client = createClient({ url: "", fetch: watchedFetch });
const key = takeKey();
const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <StrictMode>
      <App client={client} linkKey={key} />
    </StrictMode>,
  );
