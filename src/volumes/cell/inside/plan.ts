/** What the process in the app's namespaces is told, on one line of its descriptor 3. */
export interface Plan {
  /** The folder that is the app's root. */
  readonly root: string;
  readonly volumes: readonly PlannedVolume[];
  /** What to become then; undefined: only mount, in an app that runs. */
  readonly command: readonly string[] | undefined;
  readonly environment: Readonly<Record<string, string>>;
}

export interface PlannedVolume {
  /** Where the driver mounted it. */
  readonly source: string;
  /** `major:minor` of what has to be mounted there. */
  readonly device: string;
  readonly containerDir: string;
  readonly isReadOnly: boolean;
}

/** The answer, on the same descriptor: null when all is mounted, or what failed. */
export interface PlanAnswer {
  readonly error: string | null;
}

export const planDescriptor = 3;
