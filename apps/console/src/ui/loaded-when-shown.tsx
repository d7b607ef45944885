import { type ComponentType, type ReactNode, useEffect, useState } from "react";
import { Nothing } from "./empty-state.tsx";

/**
 * Returns a component whose script is loaded when the component is first shown. `lazy` of React shows its placeholder
 * for at least 300 ms, even if the script is already loaded.
 */
export function loadedWhenShown<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  placeholder: ReactNode = null,
): ComponentType<Props> {
  let Loaded: ComponentType<Props> | undefined;
  return function LoadedWhenShown(props: Props) {
    const [state, setState] = useState<"loading" | "loaded" | "failed">("loading");
    useEffect(() => {
      if (Loaded) return;
      void load()
        .then((component) => {
          Loaded = component;
          return "loaded" as const;
        })
        .catch(() => "failed" as const)
        .then(setState);
    }, []);
    if (Loaded) return <Loaded {...props} />;
    if (state !== "failed") return placeholder;
    return (
      <Nothing title="This part of the console could not be loaded" state="failed">
        <p>The server cannot be reached, or it was updated.</p>
        <button type="button" className="btn" onClick={() => window.location.reload()}>
          Load the page again
        </button>
      </Nothing>
    );
  };
}
