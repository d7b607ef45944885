import type { Session } from "../api/api.ts";
import type { SessionView } from "./view.ts";

export interface PanelProps {
  readonly view: SessionView;
  readonly version: number;
  readonly session: Session | undefined;
  readonly sessionId: string;
  readonly onShow: (sequence: number) => void;
  readonly onRaw: (sequence: number) => void;
}
