// oxlint-disable-next-line import/no-unassigned-import -- it must come before everything that makes a schema.
import "./without-eval.ts";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
// oxlint-disable-next-line import/no-unassigned-import -- a style has nothing to import.
import "./styles/index.css";
import { takeKey } from "./api/login.ts";
import { App } from "./app.tsx";
import { applyTheme, chosenTheme } from "./shell/theme.ts";

applyTheme(chosenTheme());
const key = takeKey();
const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <StrictMode>
      <App firstKey={key} />
    </StrictMode>,
  );
