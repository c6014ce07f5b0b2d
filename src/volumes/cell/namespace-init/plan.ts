/** The plan that the process in the app's namespaces reads as one line from descriptor 3. */
export interface Plan {
  /** The directory that is the app's root. */
  readonly root: string;
  readonly volumes: readonly PlannedVolume[];
  readonly hidden: HiddenDirectories;
  /** The command to execute afterwards. If undefined, the process only mounts, in a running app. */
  readonly command: readonly string[] | undefined;
  readonly environment: Readonly<Record<string, string>>;
}

/** The directories of drivers, which are hidden from the app. */
export interface HiddenDirectories {
  /** A directory that only root can enter. The app's mount namespace has the hidden directories in it. */
  readonly at: string;
  readonly folders: readonly string[];
  /** The mounts that contain them, and the mounts in which further directories of drivers may be created. */
  readonly parentMounts: readonly string[];
}

export interface PlannedVolume {
  /** The path at which the driver mounted the volume. */
  readonly source: string;
  /** `major:minor` of the expected mount at `source`. */
  readonly device: string;
  readonly containerDir: string;
  readonly isReadOnly: boolean;
}

/** The response on the same descriptor: null if everything is mounted, otherwise the error. */
export interface MountResult {
  readonly error: string | null;
}

export const planDescriptor = 3;
