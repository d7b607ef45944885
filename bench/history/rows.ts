export interface Figure {
  readonly ms: number;
  readonly mb: number;
  /** Processor time in milliseconds, which is more stable than `ms` on a shared machine. */
  readonly cpu?: number;
}

export interface Goal {
  readonly ms: number | undefined;
  readonly mb?: number;
}

export type Row = readonly [what: string, figure: Figure | undefined, goal?: Goal | undefined];
