export interface AwaitCardData {
  readonly sessionId: string;
  readonly toolUseId: string;
  readonly kind: "frontend_tool" | "question" | "approval";
  readonly name: string;
  readonly input: unknown;
  readonly openedAt: number;
  readonly expiresAt: string | null;
  readonly title: string;
  readonly agentName: string;
}

export type Answer = (answer: GivenAnswer) => void;

interface GivenAnswer {
  readonly content: string;
  readonly isError?: boolean;
  /** The changed input. The call runs with it instead of the model's input. */
  readonly updatedInput?: Record<string, unknown>;
}
