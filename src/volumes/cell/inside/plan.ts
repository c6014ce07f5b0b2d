/** What the process in the app's namespaces is told, on one line of its descriptor 3. */
export interface Plan {
  /** The folder that is the app's root. */
  readonly root: string;
  readonly volumes: readonly PlannedVolume[];
  readonly hidden: HiddenFolders;
  /** What to become then; undefined: only mount, in an app that runs. */
  readonly command: readonly string[] | undefined;
  readonly environment: Readonly<Record<string, string>>;
}

/** Folders of drivers, which the app does not see. */
export interface HiddenFolders {
  /** A folder of root's alone, in which the app's mount namespace has them. */
  readonly at: string;
  readonly folders: readonly string[];
  /** Mounts in which they lie, and in which further ones may be made. */
  readonly holders: readonly string[];
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
export interface MountResult {
  readonly error: string | null;
}

export const planDescriptor = 3;
