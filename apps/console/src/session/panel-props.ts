import type { Session } from "../api/api.ts";
import type { SessionView } from "./view.ts";

/** The properties of every panel of the inspector. */
export interface PanelProps {
  readonly view: SessionView;
  readonly version: number;
  readonly session: Session | undefined;
  readonly sessionId: string;
  readonly onShow: (sequence: number) => void;
  readonly onRaw: (sequence: number) => void;
}
